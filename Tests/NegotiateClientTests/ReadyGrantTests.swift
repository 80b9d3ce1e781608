import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

/// Tokens that are made while a request without one is on its way, for a server that asked the last time.
@Suite(.timeLimit(.minutes(5))) struct ReadyGrantTests {
    private func makeExtension(
        change: (inout ExtensionConfiguration) throws -> Void = { _ in },
        ready: @escaping @Sendable (AuthorizationRequest) async -> AuthorizationGrant? = { try? Self.grant(for: $0) }
    ) throws -> ScriptedExtension {
        try ScriptedExtension(change: change, ready: ready)
    }

    private static func grant(for request: AuthorizationRequest) throws -> AuthorizationGrant? {
        guard case .headers(let grant) = try ScriptedExtension.grant(for: request, token: Array("ready".utf8)) else { return nil }
        return grant
    }

    /// `/open` is for everybody.
    private static func isOpen(_ request: ScriptedServer.Request) -> Bool { request.target == "/open" }

    private static let script: ScriptedServer.Script = { isOpen($0) ? .page(token: nil) : ScriptedServer.protected($0) }

    @Test(arguments: ClientLibrary.allCases) func `a server that asked the last time gets what is ready`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension()
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...3 {
                let reply = try await client.send(server.request())
                #expect(reply.delivery == .authenticated)
                #expect(reply.body == "hello")
            }
            #expect(
                server.requests.map { $0.field("Authorization") } == [
                    nil, negotiate("first"), nil, negotiate("ready"), nil, negotiate("ready"),
                ]
            )
            #expect(sso.requests.count == 1 && sso.requestsForReady.count == 2)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `nothing is made for a server that did not ask`(library: ClientLibrary) async throws {
        let sso = try makeExtension()
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...3 { _ = try await client.send(server.request("a.localhost", "/open")) }
            #expect(sso.requestsForReady.isEmpty)
            _ = try await client.send(server.request())
            // Another origin of the same server has not asked.
            _ = try await client.send(server.request("b.localhost"))
            #expect(sso.requestsForReady.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a page for everybody ends it until the server asks again`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension()
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            var made: [Int] = []
            for path in ["/", "/", "/open", "/open", "/open", "/", "/"] {
                let reply = try await client.send(server.request("a.localhost", path))
                #expect(reply.delivery == (path == "/open" ? .unauthenticated : .authenticated))
                made.append(sso.requestsForReady.count)
            }
            #expect(made == [0, 1, 2, 2, 2, 2, 3])
            #expect(server.requests.filter(Self.isOpen).allSatisfy { $0.field("Authorization") == nil })
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `where nothing is ready the challenge is answered as ever`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension(ready: { _ in nil })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(sso.requests.count == 2 && sso.requestsForReady.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `what is ready is not waited for where the server does not ask`(library: ClientLibrary)
        async throws
    {
        let isCanceled = Mutex(false)
        let sso = try makeExtension(ready: { request in
            // It ends with the task only.
            for await _ in AsyncStream<Never>.makeStream().stream {}
            isCanceled.withLock { $0 = Task.isCancelled }
            return try? Self.grant(for: request)
        })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            _ = try await client.send(server.request())
            let reply = try await client.send(server.request("a.localhost", "/open"))
            #expect(reply.delivery == .unauthenticated)
            #expect(isCanceled.withLock { $0 }, "nothing goes on when the response is there")
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a host that gets its ticket unasked needs none ready`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension(change: { $0.preemptiveHosts = [try HostRule("a.localhost")] })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...3 { _ = try await client.send(server.request()) }
            #expect(sso.requestsForReady.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a server that authenticates connections needs none ready`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension()
        let script: ScriptedServer.Script = { request in
            guard request.field("Authorization") != nil else { return .challenge }
            return .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")])
        }
        try await library.withServer(extension: sso, script: script) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(sso.requestsForReady.isEmpty)
        }
    }
}
