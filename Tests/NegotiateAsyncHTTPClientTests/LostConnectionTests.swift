import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

/// A server that closes a reused connection when a request arrives.
@Suite(.timeLimit(.minutes(5))) struct LostConnectionTests {
    /// Closes each connection at its second matching request.
    private static func closing(
        _ script: @escaping ScriptedServer.Script,
        at kind: @escaping @Sendable (ScriptedServer.Request) -> Bool = { _ in true }
    ) -> ScriptedServer.Script {
        let seen = Counts()
        return { request in kind(request) && seen.next(request.connection) > 1 ? .drop : script(request) }
    }

    @Test(arguments: [HTTPMethod.GET, .HEAD, .PUT, .DELETE]) func `an idempotent request over a lost connection is repeated`(
        method: HTTPMethod
    ) async throws {
        try await withServer(extension: ScriptedExtension(), script: Self.closing({ _ in .page() })) { server, client in
            var request = server.request()
            request.method = method
            if method == .PUT { request.body = .bytes(ByteBuffer(string: "again")) }
            for _ in 1...2 {
                let response = try await client.execute(request)
                _ = try await response.text
                #expect(response.status == .ok)
            }
            #expect(server.requests.map(\.connection) == [1, 1, 2])
            #expect(Set(server.requests.map(\.body)) == [method == .PUT ? "again" : ""])
        }
    }

    @Test func `a POST request over a lost connection is not repeated`() async throws {
        try await withServer(extension: ScriptedExtension(), script: Self.closing({ _ in .page() })) { server, client in
            var request = server.request()
            request.method = .POST
            _ = try await client.execute(request).text
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(request) }
            #expect(error?.code == .connectionClosed)
            #expect(server.requests.map(\.connection) == [1, 1])
        }
    }

    /// The token that was sent is not reused: the other connection gets its own.
    @Test func `a request with a token over a lost connection is repeated with a new token`() async throws {
        let sso = try ScriptedExtension()
        let script = Self.closing(ScriptedServer.protected, at: { $0.field("Authorization") != nil })
        try await withServer(extension: sso, script: script) { server, client in
            for _ in 1...2 {
                let text = try await client.execute(server.request()).text
                #expect(text == "hello")
            }
            #expect(server.traffic.filter(\.isAuthorized).map(\.connection) == [2, 2, 3])
            #expect(sso.requests.count == 3)
        }
    }

    @Test func `a request is not repeated if a new connection closes as well`() async throws {
        let served = Mutex(false)
        let script: ScriptedServer.Script = { request in
            served.withLock { served in
                defer { served = true }
                return served ? .drop : .page()
            }
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            _ = try await client.execute(server.request()).text
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .connectionClosed)
            #expect(server.requests.map(\.connection) == [1, 1, 2], "the close of a new connection is final")
        }
    }
}

/// Counts the requests of each connection.
private final class Counts: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    func next(_ connection: Int) -> Int {
        counts.withLock {
            $0[connection, default: 0] += 1
            return $0[connection] ?? 0
        }
    }
}
