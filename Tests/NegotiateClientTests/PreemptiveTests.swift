import HTTPNegotiate
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

/// Preemptive tokens: only if the profile allows them, and only to a server that has sent a challenge before.
@Suite(.timeLimit(.minutes(5))) struct PreemptiveTests {
    private func preemptive() throws -> ScriptedExtension {
        try ScriptedExtension(change: { $0.preemptiveHosts = [try HostRule("a.localhost")] })
    }

    private func isAuthorized(_ server: ScriptedServer) -> [Bool] { server.traffic.map(\.isAuthorized) }

    @Test(arguments: ClientLibrary.allCases) func `a server that has sent one challenge gets preemptive tokens`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            for _ in 1...3 {
                let reply = try await client.send(server.request())
                #expect(reply.delivery == .authenticated)
                #expect(reply.body == "hello")
            }
            #expect(isAuthorized(server) == [false, true, true, true])
            #expect(server.credentials.allSatisfy(library.mayCarry))
            // libcurl decides whether to reuse a connection.
            if library == .asyncHTTPClient { #expect(server.traffic.map(\.connection) == [1, 2, 2, 2]) }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a host outside PreemptiveHosts gets no preemptive token`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request("b.localhost")) }
            #expect(isAuthorized(server) == [false, true, false, true])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a challenge from one port allows no preemptive token to another`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(extension: preemptive(), script: ScriptedServer.protected) { first, client in
            try await ScriptedServer.run(ScriptedServer.protected) { second in
                _ = try await client.send(first.request())
                _ = try await client.send(second.request())
                #expect(isAuthorized(second) == [false, true])
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `with a preemptive token a body is sent once`(library: ClientLibrary) async throws {
        try await library.withServer(extension: preemptive(), script: ScriptedServer.protected) { server, client in
            _ = try await client.send(server.request())
            _ = try await client.send(server.request("a.localhost", "/upload", method: "POST", body: .text("data")))
            #expect(server.requests.filter { $0.target == "/upload" }.map(\.body) == ["data"])
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `a public page is delivered as unauthenticated despite a preemptive token`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { $0.target == "/open" ? .page(token: nil) : ScriptedServer.protected($0) }
        try await library.withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.send(server.request())
            let reply = try await client.send(server.request("a.localhost", "/open"))
            #expect(reply.delivery == .unauthenticated)
            #expect(reply.status == 200)
            #expect(isAuthorized(server) == [false, true, true])
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a forged proof after a preemptive token is an error`(library: ClientLibrary) async throws
    {
        let script: ScriptedServer.Script = { $0.target == "/forged" ? .page(token: "forged") : ScriptedServer.protected($0) }
        try await library.withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.send(server.request())
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request("a.localhost", "/forged")) }
            #expect(error?.code == .invalidResponse)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `after a refused preemptive token the client waits for a challenge`(
        library: ClientLibrary
    ) async throws {
        let isStrict = Mutex(false)
        let script: ScriptedServer.Script = { isStrict.withLock { $0 } ? .challenge : ScriptedServer.protected($0) }
        try await library.withServer(extension: preemptive(), script: script) { server, client in
            _ = try await client.send(server.request())
            isStrict.withLock { $0 = true }
            guard case .refused = try await client.send(server.request()).delivery else {
                Issue.record("a refused token was reported as accepted")
                return
            }
            isStrict.withLock { $0 = false }
            _ = try await client.send(server.request())
            #expect(isAuthorized(server) == [false, true, true, false, true])
        }
    }
}
