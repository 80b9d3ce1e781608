import Foundation
import FoundationNetworking
import HTTPNegotiate
import NegotiateURLSession
import TestSupport
import Testing

/// Uploads and request bodies of URLSession.
@Suite(.timeLimit(.minutes(5))) struct RequestBodyTests {
    private func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    @Test func `an upload from memory is sent again after a challenge`() async throws {
        try await withServer(script: ScriptedServer.protected) { server, session in
            var request = try server.request()
            request.httpMethod = "PUT"
            request.httpBody = Data("not this".utf8)
            let (data, response) = try await session.upload(for: request, from: Data("the body".utf8))
            #expect(response.statusCode == 200)
            #expect(text(data) == "hello")
            #expect(server.requests.map(\.body) == ["the body", "the body"])
        }
    }

    @Test(arguments: [0, 1, 300_000]) func `an upload from a file reads the file again after a challenge`(size: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
        try Data(repeating: UInt8(ascii: "x"), count: size).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withServer(script: ScriptedServer.protected) { server, session in
            var request = try server.request()
            request.httpMethod = "PUT"
            let (_, response) = try await session.upload(for: request, fromFile: file)
            #expect(response.statusCode == 200)
            #expect(server.requests.map(\.body.utf8.count) == [size, size])
        }
    }

    @Test func `a Content-Length field is not sent with a body stream`() async throws {
        let configuration = settings { $0.negotiation.maximumReplayableBody = 10 }
        try await withServer(configuration: configuration, script: { _ in .challenge }) { server, session in
            var request = try server.request("elsewhere.localhost")
            request.httpMethod = "POST"
            // With a chunked stream this field would define a second end of the body.
            request.setValue("3", forHTTPHeaderField: "content-length")
            request.httpBodyStream = InputStream(data: Data("one two three".utf8))
            let response = try await session.data(for: request).1
            #expect(response.statusCode == 401)
            #expect(server.requests.map(\.body) == ["one two three"])
            #expect(server.requests.map { $0.field("Content-Length") } == [nil])
        }
    }

    @Test(arguments: ["/nonexistent/file", "/tmp"]) func `an upload from an unreadable file is not sent`(path: String) async throws {
        try await withServer(script: ScriptedServer.protected) { server, session in
            var request = try server.request()
            request.httpMethod = "PUT"
            let error = await #expect(throws: HTTPTransportError.self) {
                try await session.upload(for: request, fromFile: URL(filePath: path))
            }
            #expect(error?.message.contains(path) == true)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a body is not sent with GET`() async throws {
        try await withServer(script: ScriptedServer.protected) { server, session in
            let error = await #expect(throws: HTTPTransportError.self) { try await session.send("GET", server.url(), body: "data") }
            #expect(error?.message.contains("GET") == true)
            #expect(server.requests.isEmpty)
            let reply = try await session.send("GET", server.url())
            #expect(reply.status == 200)
        }
    }
}
