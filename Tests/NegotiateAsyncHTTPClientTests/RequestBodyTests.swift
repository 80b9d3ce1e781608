import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import SignOnPolicy
import TestSupport
import Testing

/// Request bodies as streams and from closures.
@Suite(.timeLimit(.minutes(5))) struct RequestBodyTests {
    @Test func `the known length of a body stream is sent`() async throws {
        let configuration = loopback { $0.negotiation.maximumReplayableBody = 10 }
        let script: ScriptedServer.Script = { _ in .challenge }
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: script) { server, client in
            var request = server.request("elsewhere.localhost")
            request.method = .POST
            request.body = .stream(OnceOnly(["one ", "two ", "three"]), length: .known(Int64(13)))
            let status = try await client.execute(request).status
            #expect(status == .unauthorized)
            #expect(server.requests.map(\.body) == ["one two three"])
            #expect(server.requests.map { $0.field("Content-Length") } == ["13"])
        }
    }

    @Test func `a body closure is called for each attempt`() async throws {
        let configuration = loopback { $0.negotiation.maximumReplayableBody = 1 }
        let count = Counter()
        try await withServer(extension: ScriptedExtension(), configuration: configuration, script: ScriptedServer.protected) {
            server,
            client in
            var request = server.request()
            request.method = .PUT
            let status = try await client.execute(request) {
                .stream(OnceOnly(["a", "b", "\(count.next())"]), length: .known(Int64(3)))
            }.status
            #expect(status == .ok)
            #expect(server.requests.map(\.body) == ["ab1", "ab2"])
        }
    }

    @Test func `a request whose body closure throws is not sent`() async throws {
        struct Broken: Error {}
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            await #expect(throws: Broken.self) { try await client.execute(server.request()) { throw Broken() } }
            #expect(server.requests.isEmpty)
        }
    }
}
