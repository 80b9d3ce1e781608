import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

/// Servers that authenticate a connection and accept further requests over it (`Persistent-Auth: true`).
@Suite(.timeLimit(.minutes(5))) struct ConnectionBoundTests {
    /// A server that remembers the user of each connection and replies with it.
    private static func script() -> ScriptedServer.Script {
        let users = Users()
        return { request in
            if let credentials = request.field("Authorization") {
                users.note(credentials, for: request.connection)
                return .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: credentials)
            }
            return users.user(of: request.connection).map { .response(200, body: $0) } ?? .challenge
        }
    }

    private final class Users: Sendable {
        private let names = Mutex<[Int: String]>([:])

        func note(_ name: String, for connection: Int) { names.withLock { $0[connection] = name } }
        func user(of connection: Int) -> String? { names.withLock { $0[connection] } }
    }

    @Test(arguments: ClientLibrary.allCases) func `another principal gets its own connection`(library: ClientLibrary) async throws {
        let principal = Mutex("alice")
        let identity: @Sendable (AuthorizationRequest) -> AuthorizationIdentity = { _ in
            AuthorizationIdentity(principal: principal.withLock { $0 }, servicePrincipal: "HTTP/a.localhost")
        }
        let sso = try ScriptedExtension(
            answer: { request in
                let identity = identity(request)
                return try ScriptedExtension.grant(for: request, identity: identity, token: Array(identity.principal.utf8))
            },
            whoAnswers: identity
        )
        try await library.withServer(extension: sso, script: Self.script()) { server, client in
            for name in ["alice", "bob", "alice", "bob"] {
                principal.withLock { $0 = name }
                let reply = try await client.send(server.request())
                #expect(reply.body == negotiate(name))
            }
            if library.makesConnections {
                #expect(server.traffic.filter { $0.connection != 1 }.map(\.connection) == [2, 3, 2, 3])
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `after a sign-out no request uses the authenticated connection`(library: ClientLibrary)
        async throws
    {
        let isSignedIn = Mutex(true)
        let sso = try ScriptedExtension(
            answer: { request in
                guard isSignedIn.withLock({ $0 }) else { throw AuthorizationError(.notSignedIn, "No one is signed in.") }
                return try ScriptedExtension.grant(for: request)
            },
            whoAnswers: { request in isSignedIn.withLock { $0 } ? try? ScriptedExtension.identity(for: request) : nil }
        )
        try await library.withServer(extension: sso, script: Self.script()) { server, client in
            _ = try await client.send(server.request())
            isSignedIn.withLock { $0 = false }
            let error = await #expect(throws: AuthorizationError.self) { try await client.send(server.request()) }
            #expect(error?.code == .notSignedIn)
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false])
            #expect(server.credentials.allSatisfy(library.mayCarry))
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `without an identity from the extension every request gets a token`(library: ClientLibrary) async throws {
        let sso = try ScriptedExtension(whoAnswers: { _ in nil })
        try await library.withServer(extension: sso, script: Self.script()) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            if library.makesConnections { #expect(server.traffic.map(\.connection) == [1, 2, 1, 2]) }
        }
    }

    @Test(arguments: ClientLibrary.allCases)
    func `requests without a token or with own credentials do not use the connection`(library: ClientLibrary) async throws {
        try await library.withServer(script: Self.script()) { server, client in
            _ = try await client.send(server.request())
            let ticketed = try #require(server.requests.last?.connection)
            let own = try await client.send(server.request(fields: ["Authorization": "Bearer mine"]))
            #expect(own.body == "Bearer mine")
            _ = try await client.send(server.request("elsewhere.localhost"))
            #expect(Set(server.requests.suffix(2).map(\.connection)).union([ticketed]).count == 3)
        }
    }

    /// If the library hides the connection of a request, a response without a token proves nothing.
    @Test(arguments: [ClientLibrary.givenHTTPClient, .urlSession])
    func `a library that hides connections sends a token with every request`(library: ClientLibrary) async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: "hello")
        }
        try await library.withServer(script: script) { server, client in
            for _ in 1...2 {
                let reply = try await client.send(server.request())
                #expect(reply.delivery == .authenticated)
            }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            #expect(server.credentials.allSatisfy(library.mayCarry))
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `Persistent-Auth: false does not make a connection authenticated`(library: ClientLibrary)
        async throws
    {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "false")], body: "hello")
        }
        try await library.withServer(script: script) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            if library.makesConnections { #expect(server.traffic.map(\.connection) == [1, 2, 1, 2]) }
        }
    }
}
