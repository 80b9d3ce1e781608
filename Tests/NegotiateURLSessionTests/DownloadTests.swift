import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// Downloads to files.
@Suite(.timeLimit(.minutes(5))) struct DownloadTests {
    /// Runs a server, and a session with its own download directory.
    private func withDownloads(
        script: @escaping ScriptedServer.Script,
        _ body: (ScriptedServer, NegotiatingURLSession, Folder) async throws -> Void
    ) async throws {
        try await withFolder { path in
            let folder = Folder(url: URL(filePath: path))
            let configuration = settings { $0.downloadDirectory = folder.url }
            try await withServer(configuration: configuration, script: script) { try await body($0, $1, folder) }
        }
    }

    private struct Folder: Sendable {
        let url: URL

        var sizes: [Int] {
            get throws {
                let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
                return names.compactMap {
                    try? FileManager.default.attributesOfItem(atPath: url.appending(path: $0).path)[.size] as? Int
                }
            }
        }
    }

    @Test(arguments: [0, 5, 3_000_000]) func `a download is a file that only its user can read`(size: Int) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .challenge : .page(String(repeating: "x", count: size))
        }
        try await withDownloads(script: script) { server, session, folder in
            let (file, response) = try await session.download(for: server.request())
            #expect(response.statusCode == 200)
            #expect(try Data(contentsOf: file) == Data(repeating: UInt8(ascii: "x"), count: size))
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try folder.sizes == [size], "the file of the challenge's body is removed")
            #expect(file.deletingLastPathComponent().path == folder.url.path)
        }
    }

    @Test func `redirects of a download leave no files`() async throws {
        let script: ScriptedServer.Script = { $0.target == "/end" ? .page("the end", token: nil) : .redirect(302, to: "/end") }
        try await withDownloads(script: script) { server, session, folder in
            let url = try #require(URL(string: server.url("elsewhere.localhost", "/start")))
            let (file, _) = try await session.download(from: url)
            #expect(try String(contentsOf: file, encoding: .utf8) == "the end")
            #expect(try folder.sizes == [7])
        }
    }

    static let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nWWW-Authenticate: "
    static let half = "\r\n\r\n" + String(repeating: "x", count: 50_000)

    @Test func `a truncated download leaves no file`() async throws {
        let reply = ScriptedServer.Reply.raw(Self.head + negotiate("final") + Self.half)
        try await withDownloads(script: { $0.field("Authorization") == nil ? .challenge : reply }) { server, session, folder in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.download(for: server.request()) }
            #expect(error?.code == .connectionClosed)
            let sizes = try folder.sizes
            #expect(sizes.isEmpty)
        }
    }

    @Test func `a download from a server without a valid proof leaves no file`() async throws {
        let reply = ScriptedServer.Reply.partial(Self.head + negotiate("forged") + Self.half)
        try await withDownloads(script: { $0.field("Authorization") == nil ? .challenge : reply }) { server, session, folder in
            let error = await #expect(throws: AuthorizationError.self) { try await session.download(for: server.request()) }
            #expect(error?.code == .invalidResponse)
            let sizes = try folder.sizes
            #expect(sizes.isEmpty)
            try #require(await server.events.contains(.closed(connection: 2)))
        }
    }

    @Test func `a cancelled download leaves no file and closes its connection`() async throws {
        let reply = ScriptedServer.Reply.partial(Self.head + negotiate("final") + Self.half)
        try await withDownloads(script: { $0.field("Authorization") == nil ? .challenge : reply }) { server, session, folder in
            let request = try server.request()
            let call = Task { try await session.download(for: request) }
            let hasBegun = try await comesTrue { try folder.sizes.contains { $0 > 10_000 } }
            #expect(hasBegun)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            #expect(try folder.sizes.isEmpty)
            try #require(await server.events.contains(.closed(connection: 2)))
        }
    }

    @Test func `a missing download directory is a transport error`() async throws {
        let configuration = settings { $0.downloadDirectory = URL(filePath: "/nonexistent/folder") }
        try await withServer(configuration: configuration, script: ScriptedServer.protected) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.download(for: server.request()) }
            #expect(error?.code == .other)
        }
    }
}
