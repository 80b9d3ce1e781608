import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@testable import NegotiateAsyncHTTPClient

/// Connections that `NegotiatingHTTPClient` makes itself, which other libraries hide.
@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test func `further requests over an authenticated connection need no token`() async throws {
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            if request.field("Authorization") != nil {
                return .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: "hello")
            }
            // The token authenticated the second connection.
            return request.connection == 2 ? .response(200, body: "hello again") : .challenge
        }
        try await withServer(extension: sso, script: script) { server, client in
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

    @Test func `a connection that is challenged again is closed`() async throws {
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

    @Test func `a second leg is never sent over another connection`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(401, [("WWW-Authenticate", negotiate("more")), ("Connection", "close")])
        }
        let sso = try ScriptedExtension()
        try await withServer(extension: sso, script: script) { server, client in
            let error = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("connection") == true)
            // Three attempts, each with its own context; a second leg was never sent.
            #expect(server.requests.map { $0.field("Authorization") } == [nil] + Array(repeating: negotiate("first"), count: 3))
            #expect(sso.requests.count == 3)
        }
    }

    @Test func `a server's forged connection stamp is removed`() async throws {
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

    @Test func `the history contains every hop and no token`() async throws {
        let script: ScriptedServer.Script = { request in
            switch (request.target, request.field("Authorization")) {
            case (_, nil): .challenge
            case ("/start", _):
                .response(302, [("WWW-Authenticate", negotiate("final")), ("Location", "http://b.localhost:\(request.port)/end")])
            default: .page("the end")
            }
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            let history = try await client.execute(server.request("a.localhost", "/start")).history
            #expect(history.map(\.responseHead.status.code) == [302, 200])
            #expect(history.map(\.request.url) == [server.url("a.localhost", "/start"), server.url("b.localhost", "/end")])
            #expect(history.allSatisfy { !$0.request.headers.contains(name: "Authorization") })
        }
    }

    @Test(arguments: [false, true]) func `the number of idle clients is limited`(isMultiplexed: Bool) async throws {
        let store = ClientStore(connections: .init(), eventLoopGroup: HTTPClient.defaultEventLoopGroup)
        let identities = try (0...ClientStore.maximumIdleClients).map { try identity("user\($0)@EXAMPLE.TEST") }
        var clients: [HTTPClient] = []
        for identity in identities {
            let lease = try store.lease(for: identity, isMultiplexed: isMultiplexed)
            lease.keep(isAuthenticated: false)
            clients.append(lease.client.client)
        }
        do {
            let leases = try identities.reversed().map { try store.lease(for: $0, isMultiplexed: isMultiplexed) }.reversed()
            for (position, lease) in leases.enumerated() {
                #expect((lease.client.client === clients[position]) == (position > 0), "the least recently used client is gone")
            }
            let second = try store.lease(for: identities[1], isMultiplexed: isMultiplexed)
            #expect((second.client.client === clients[1]) == isMultiplexed, "a client with one connection is leased once at a time")
        }
        try await store.shutdown()
    }

    private func identity(_ principal: String) throws -> ConnectionIdentity {
        ConnectionIdentity(
            origin: try Origin(url: "https://a.localhost/"),
            authorization: AuthorizationIdentity(principal: principal, servicePrincipal: "HTTP/a.localhost"),
            bindsChannel: true,
            channelBindings: nil
        )
    }
}
