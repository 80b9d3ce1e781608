import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

/// Which requests may share a connection.
@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test(arguments: ClientLibrary.allCases) func `a connection that carried a token carries no other requests`(library: ClientLibrary)
        async throws
    {
        let script: ScriptedServer.Script = { request in
            request.target == "/open" || request.field("Authorization") != nil ? .page() : .challenge
        }
        try await library.withServer(script: script) { server, client in
            for path in ["/", "/open", "/", "/open"] { _ = try await client.send(server.request("a.localhost", path)) }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, false, true, false])
            #expect(server.credentials.allSatisfy(library.mayCarry))
            if library.makesConnections { #expect(server.traffic.map(\.connection) == [1, 2, 1, 1, 2, 1]) }
        }
    }

    /// Sends many concurrent requests whose principals alternate.
    @Test(arguments: ClientLibrary.allCases) func `requests of different principals do not share a connection`(library: ClientLibrary)
        async throws
    {
        let count = Mutex(0)
        let sso = try ScriptedExtension { request in
            var request = request
            let turn = count.withLock { count in
                count += 1
                return count
            }
            let principal = turn.isMultiple(of: 2) ? "bob@EXAMPLE.TEST" : "alice@EXAMPLE.TEST"
            request.principal = principal
            return try ScriptedExtension.grant(for: request, token: Array(principal.utf8))
        }
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...40 { group.addTask { try await client.send(server.request()).body } }
                for try await text in group { #expect(text == "hello") }
            }
            #expect(server.requests.count == 80)
            #expect(Set(server.credentials.joined()).count == 3)
            #expect(server.credentials.allSatisfy(library.mayCarry))
        }
    }

    static let first = AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a@EXAMPLE.TEST")

    @Test(
        arguments: ClientLibrary.allCases,
        [
            AuthorizationIdentity(principal: "bob@EXAMPLE.TEST", servicePrincipal: "HTTP/a@EXAMPLE.TEST"),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/b@EXAMPLE.TEST"),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a@OTHER.TEST"),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a@EXAMPLE.TEST", delegation: .byPolicy),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a@EXAMPLE.TEST", delegation: .always),
        ]
    )
    func `another principal, service or delegation gets another connection`(
        library: ClientLibrary,
        other: AuthorizationIdentity
    ) async throws {
        let turn = Mutex(0)
        let sso = try ScriptedExtension { request in
            let isOther = turn.withLock { turn in
                turn += 1
                return turn.isMultiple(of: 2)
            }
            let token = isOther ? "other" : "first"
            return try ScriptedExtension.grant(for: request, identity: isOther ? other : Self.first, token: Array(token.utf8))
        }
        try await library.withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            for _ in 1...4 { _ = try await client.send(server.request()) }
            #expect(server.credentials.allSatisfy(library.mayCarry))
            if library.makesConnections {
                #expect(server.traffic.filter(\.isAuthorized).map(\.connection) == [2, 3, 2, 3])
            }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `requests to different origins do not share a connection`(library: ClientLibrary)
        async throws
    {
        try await library.withServer(script: ScriptedServer.protected) { server, client in
            for host in ["a.localhost", "b.localhost", "a.localhost", "b.localhost"] { _ = try await client.send(server.request(host)) }
            let hosts = Dictionary(grouping: server.requests, by: \.connection).mapValues { Set($0.map { $0.field("Host") }) }
            #expect(hosts.count == 4)
            #expect(hosts.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a connection whose token was refused is closed`(library: ClientLibrary) async throws {
        try await library.withServer(script: { _ in .challenge }) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(Set(server.traffic.filter(\.isAuthorized).map(\.connection)).count == 2)
            if library.makesConnections { #expect(server.requests.map(\.connection) == [1, 2, 1, 3]) }
        }
    }

    @Test(arguments: ClientLibrary.allCases) func `a long body of a challenge is not read completely`(library: ClientLibrary) async throws {
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 1000000000\r\n\r\n"
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .partial(head + String(repeating: "x", count: 1 << 20)) : .page()
        }
        try await library.withServer(script: script) { server, client in
            for _ in 1...2 { _ = try await client.send(server.request()) }
            #expect(server.requests.map(\.connection) == (library.makesConnections ? [1, 2, 3, 2] : [1, 2, 3, 4]))
        }
    }
}
