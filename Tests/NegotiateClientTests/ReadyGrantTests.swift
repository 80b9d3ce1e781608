import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

/// Ready tokens, which are made during a request without a token if the server sent a challenge the last time.
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

    /// `/open` is public.
    private static func isOpen(_ request: ScriptedServer.Request) -> Bool { request.target == "/open" }

    private static let script: ScriptedServer.Script = { isOpen($0) ? .page(token: nil) : ScriptedServer.protected($0) }

    @Test(arguments: ClientLibrary.allCases) func `a server that challenged the last request gets a ready token`(library: ClientLibrary)
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

    @Test(arguments: ClientLibrary.allCases) func `no ready token is made for a server that has sent no challenge`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension()
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...3 { _ = try await client.send(server.request("a.localhost", "/open")) }
            #expect(sso.requestsForReady.isEmpty)
            _ = try await client.send(server.request())
            // Another origin of the same server has sent no challenge.
            _ = try await client.send(server.request("b.localhost"))
            #expect(sso.requestsForReady.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `after a public page no ready token is made until the next challenge`(
        library: ClientLibrary
    )
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

    @Test(arguments: ClientLibrary.allCases) func `without a ready token the challenge is answered by the extension`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension(ready: { _ in nil })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(sso.requests.count == 2 && sso.requestsForReady.count == 1)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `an unfinished ready token is cancelled if the server sends no challenge`(
        library: ClientLibrary
    )
        async throws
    {
        let isCanceled = Mutex(false)
        let sso = try makeExtension(ready: { request in
            // This loop ends only when the task is cancelled.
            for await _ in AsyncStream<Never>.makeStream().stream {}
            isCanceled.withLock { $0 = Task.isCancelled }
            return try? Self.grant(for: request)
        })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            _ = try await client.send(server.request())
            let reply = try await client.send(server.request("a.localhost", "/open"))
            #expect(reply.delivery == .unauthenticated)
            #expect(isCanceled.withLock { $0 }, "no work continues after the response")
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `no ready token is made for a host in PreemptiveHosts`(library: ClientLibrary)
        async throws
    {
        let sso = try makeExtension(change: { $0.preemptiveHosts = [try HostRule("a.localhost")] })
        try await library.withServer(extension: sso, script: Self.script) { server, client in
            for _ in 1...3 { _ = try await client.send(server.request()) }
            #expect(sso.requestsForReady.isEmpty)
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `no ready token is made for a server that authenticates connections`(
        library: ClientLibrary
    )
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
