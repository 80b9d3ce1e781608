import AsyncHTTPClient
import HTTPNegotiate
import NIOHTTP1
import NegotiateAsyncHTTPClient
import Synchronization
import TestSupport
import Testing

/// A connection that carried a ticket is kept to one identity, whatever part of it differs.
@Suite(.timeLimit(.minutes(1))) struct IdentityTests {
    static let first = AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.test@EXAMPLE.TEST")

    @Test(arguments: [
        AuthorizationIdentity(principal: "bob@EXAMPLE.TEST", servicePrincipal: "HTTP/a.test@EXAMPLE.TEST"),
        AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/b.test@EXAMPLE.TEST"),
        AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.test@OTHER.TEST"),
        AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.test@EXAMPLE.TEST", delegation: .byPolicy),
        AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a.test@EXAMPLE.TEST", delegation: .always),
    ])
    func `another principal, service or delegation gets another connection`(other: AuthorizationIdentity) async throws {
        let turn = Mutex(0)
        let sso = try ScriptedExtension { request in
            let turn = turn.withLock { turn in
                turn += 1
                return turn
            }
            return try ScriptedExtension.grant(for: request, identity: turn.isMultiple(of: 2) ? other : Self.first)
        }
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            for _ in 1...4 { _ = try await client.execute(server.request()).text }
            #expect(server.requests.filter { $0.field("Authorization") != nil }.map(\.connection) == [2, 3, 2, 3])
        }
    }

    @Test func `after a ticket, the user's own credentials get a connection of their own`() async throws {
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            _ = try await client.execute(server.request()).text
            var own = server.request()
            own.headers.add(name: "Authorization", value: "Basic QQ==")
            _ = try await client.execute(own).text
            _ = try await client.execute(server.request()).text
            #expect(server.requests.map(\.connection) == [1, 2, 3, 1, 2])
        }
    }

    @Test func `what a server sends in the place of our stamp is thrown away`() async throws {
        let script: ScriptedServer.Script = { request in
            let forged = ("ksso-Connection-Stamp", "7 746c73")
            guard request.field("Authorization") != nil else { return .response(401, [("WWW-Authenticate", "Negotiate"), forged]) }
            return .response(200, [("WWW-Authenticate", negotiate("final")), forged])
        }
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: script) { server, client in
            let response = try await client.execute(server.request())
            #expect(!response.headers.contains { $0.name.lowercased().hasPrefix("ksso") })
            #expect(response.history.allSatisfy { !$0.responseHead.headers.contains(name: "Ksso-Connection-Stamp") })
            #expect(sso.requests.map(\.channelBindings) == [nil])
        }
    }
}
