import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

/// Tickets that nobody asked for: only where the profile allows them, and only to a server that has asked before.
@Suite(.timeLimit(.minutes(1))) struct PreemptiveTests {
    private func preemptive() throws -> ScriptedExtension {
        try ScriptedExtension(change: { $0.preemptiveHosts = [try HostRule("a.test")] })
    }

    private func isAuthorized(_ server: ScriptedServer) -> [Bool] { server.traffic.map(\.isAuthorized) }

    @Test func `a server that has asked once gets the ticket at once`() async throws {
        try await withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            for _ in 1...3 {
                let answer = try await client.negotiate(server.request())
                #expect(answer.delivery == .authenticated)
                #expect(try await answer.response.text == "hello")
            }
            #expect(server.traffic.map(\.connection) == [1, 2, 2, 2])
            #expect(isAuthorized(server) == [false, true, true, true])
        }
    }

    @Test func `a host that did not opt in is always waited for`() async throws {
        try await withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            for _ in 1...2 { _ = try await client.execute(server.request("b.test")).text }
            #expect(isAuthorized(server) == [false, true, false, true])
        }
    }

    @Test func `another port of the same host is another server`() async throws {
        try await withServer(extension: preemptive(), script: ScriptedServer.protected) { first, client in
            try await ScriptedServer.run(ScriptedServer.protected) { second in
                _ = try await client.execute(first.request()).text
                _ = try await client.execute(second.request()).text
                #expect(isAuthorized(second) == [false, true])
            }
        }
    }

    @Test func `a body is sent once`() async throws {
        try await withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            _ = try await client.execute(server.request()).text
            var upload = server.request("a.test", "/upload")
            upload.method = .POST
            upload.body = .bytes(ByteBuffer(string: "data"))
            _ = try await client.execute(upload).text
            #expect(server.requests.filter { $0.target == "/upload" }.map(\.body) == ["data"])
        }
    }

    @Test func `a page for everybody is taken, and its server has proved nothing`() async throws {
        let script: ScriptedServer.Script = { $0.target == "/open" ? .page(token: nil) : ScriptedServer.protected($0) }
        try await withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.execute(server.request()).text
            let answer = try await client.negotiate(server.request("a.test", "/open"))
            #expect(answer.delivery == .unauthenticated)
            #expect(answer.response.status == .ok)
        }
    }

    @Test func `a forged proof is an error, as ever`() async throws {
        let script: ScriptedServer.Script = { $0.target == "/forged" ? .page(token: "forged") : ScriptedServer.protected($0) }
        try await withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.execute(server.request()).text
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request("a.test", "/forged")) }
            #expect(error?.code == .invalidResponse)
        }
    }

    @Test func `a server that refuses it is waited for again`() async throws {
        let isStrict = Mutex(false)
        let script: ScriptedServer.Script = { isStrict.withLock { $0 } ? .challenge : ScriptedServer.protected($0) }
        try await withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.execute(server.request()).text
            isStrict.withLock { $0 = true }
            guard case .refused = try await client.negotiate(server.request()).delivery else {
                Issue.record("a refused ticket was taken")
                return
            }
            isStrict.withLock { $0 = false }
            _ = try await client.execute(server.request()).text
            #expect(isAuthorized(server) == [false, true, true, false, true])
        }
    }
}
