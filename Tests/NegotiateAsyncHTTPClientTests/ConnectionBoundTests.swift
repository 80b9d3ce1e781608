import AsyncHTTPClient
import HTTPNegotiate
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

/// Servers that authenticate a connection and take further requests over it (`Persistent-Auth: true`).
@Suite(.timeLimit(.minutes(1))) struct ConnectionBoundTests {
    /// Remembers, as such a server does, which connections are authenticated.
    private static func script(closing: Set<Int> = []) -> ScriptedServer.Script {
        let authenticated = Connections()
        return { request in
            if request.field("Authorization") != nil {
                authenticated.insert(request.connection)
                return .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: "hello")
            }
            if closing.contains(request.connection), authenticated.contains(request.connection) { return .drop }
            return authenticated.contains(request.connection) ? .response(200, body: "hello again") : .challenge
        }
    }

    private final class Connections: Sendable {
        private let numbers = Mutex<Set<Int>>([])

        func insert(_ number: Int) { _ = numbers.withLock { $0.insert(number) } }
        func contains(_ number: Int) -> Bool { numbers.withLock { $0.contains(number) } }
    }

    @Test func `the second request needs no ticket`() async throws {
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: Self.script()) { server, client in
            for _ in 1...3 {
                let answer = try await client.negotiate(server.request())
                #expect(answer.delivery == .authenticated)
                _ = try await answer.response.text
            }
            #expect(server.traffic.map(\.connection) == [1, 2, 2, 2])
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, false])
            #expect(sso.requests.count == 1)
        }
    }

    @Test func `another principal gets a connection of its own`() async throws {
        let principal = Mutex("alice@EXAMPLE.TEST")
        let identity: @Sendable (AuthorizationRequest) -> AuthorizationIdentity = { _ in
            AuthorizationIdentity(principal: principal.withLock { $0 }, servicePrincipal: "HTTP/a.test")
        }
        let sso = try ScriptedExtension(answer: { try ScriptedExtension.grant(for: $0, identity: identity($0)) }, whoAnswers: identity)
        try await withServer(extension: sso, script: Self.script()) { server, client in
            for name in ["alice", "bob", "alice", "bob"] {
                principal.withLock { $0 = "\(name)@EXAMPLE.TEST" }
                _ = try await client.execute(server.request()).text
            }
            let connections = server.traffic.filter { $0.connection != 1 }.map(\.connection)
            #expect(connections == [2, 3, 2, 3])
        }
    }

    @Test func `nobody signed in, nothing sent over it`() async throws {
        let isSignedIn = Mutex(true)
        let sso = try ScriptedExtension(
            answer: { request in
                guard isSignedIn.withLock({ $0 }) else { throw AuthorizationError(.notSignedIn, "Nobody is signed in.") }
                return try ScriptedExtension.grant(for: request)
            },
            whoAnswers: { request in isSignedIn.withLock { $0 } ? try? ScriptedExtension.identity(for: request) : nil }
        )
        try await withServer(extension: sso, script: Self.script()) { server, client in
            _ = try await client.execute(server.request()).text
            isSignedIn.withLock { $0 = false }
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .notSignedIn)
            #expect(server.traffic.last == .init(connection: 1, isAuthorized: false))
        }
    }

    @Test func `an extension that names nobody has every request signed`() async throws {
        let sso = try ScriptedExtension(whoAnswers: { _ in nil })
        try await withServer(extension: sso, script: Self.script()) { server, client in
            for _ in 1...2 { _ = try await client.execute(server.request()).text }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            #expect(server.traffic.map(\.connection) == [1, 2, 1, 2])
        }
    }

    @Test func `requests without a ticket and with the user's own credentials stay off it`() async throws {
        try await withServer(extension: ScriptedExtension(), script: Self.script()) { server, client in
            _ = try await client.execute(server.request()).text
            var own = server.request()
            own.headers.add(name: "Authorization", value: "Bearer mine")
            _ = try await client.execute(own).text
            #expect(server.requests.last?.connection == 3)
            _ = try await client.execute(server.request("elsewhere.test")).text
            #expect(server.requests.last?.connection == 4)
        }
    }

    @Test func `a connection that the server asks again on is given up`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: "hello")
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            for _ in 1...2 {
                let answer = try await client.negotiate(server.request())
                #expect(answer.delivery == .authenticated)
                _ = try await answer.response.text
            }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            #expect(server.traffic.map(\.connection) == [1, 2, 2, 3])
        }
    }

    @Test func `a claim that is not true is not taken for one`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "false")], body: "hello")
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            for _ in 1...2 { _ = try await client.execute(server.request()).text }
            #expect(server.traffic.map(\.connection) == [1, 2, 1, 2])
        }
    }
}
