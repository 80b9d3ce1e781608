import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

@testable import NegotiateAsyncHTTPClient

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func aConnectionThatCarriedATicketCarriesNothingElse() async throws {
        let script: ScriptedServer.Script = { request in
            request.target == "/open" || request.field("Authorization") != nil ? .page() : .challenge
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            for path in ["/", "/open", "/", "/open"] { _ = try await client.execute(server.request("a.test", path)).text }
            let expected: [ScriptedServer.Traffic] = [
                .init(connection: 1, isAuthorized: false), .init(connection: 2, isAuthorized: true),
                .init(connection: 1, isAuthorized: false),
                .init(connection: 1, isAuthorized: false), .init(connection: 2, isAuthorized: true),
                .init(connection: 1, isAuthorized: false),
            ]
            #expect(server.traffic == expected)
        }
    }

    @Test func principalsDoNotShareAConnection() async throws {
        let count = Mutex(0)
        let sso = try ScriptedExtension { request in
            var request = request
            let turn = count.withLock { count in
                count += 1
                return count
            }
            request.principal = turn.isMultiple(of: 2) ? "bob@EXAMPLE.TEST" : "alice@EXAMPLE.TEST"
            return try ScriptedExtension.grant(for: request, token: Array((request.principal ?? "").utf8))
        }
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, client in
            for _ in 1...4 { _ = try await client.execute(server.request()).text }
            let authorized = server.requests.filter { $0.field("Authorization") != nil }
            #expect(authorized.map(\.connection) == [2, 3, 2, 3])
            #expect(Set(authorized.map { "\($0.connection) \($0.field("Authorization") ?? "")" }).count == 2)
        }
    }

    @Test func originsDoNotShareAConnection() async throws {
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            for host in ["a.test", "b.test", "a.test", "b.test"] { _ = try await client.execute(server.request(host)).text }
            let hosts = Dictionary(grouping: server.requests, by: \.connection).mapValues { Set($0.map { $0.field("Host") }) }
            #expect(hosts.count == 4)
            #expect(hosts.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func theUsersOwnCredentialsHaveAConnectionEach() async throws {
        try await withServer(extension: ScriptedExtension(), script: { _ in .page() }) { server, client in
            for value in ["Basic QQ==", "Basic Qg==", nil, "Basic QQ=="] {
                var request = server.request()
                if let value { request.headers.add(name: "Authorization", value: value) }
                _ = try await client.execute(request).text
            }
            #expect(server.requests.map(\.connection) == [1, 2, 3, 4])
        }
    }

    @Test func concurrentExchangesKeepApart() async throws {
        try await withServer(extension: ScriptedExtension(), script: ScriptedServer.protected) { server, client in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...40 { group.addTask { try await client.execute(server.request()).text } }
                for try await text in group { #expect(text == "hello") }
            }
            let kinds = Dictionary(grouping: server.traffic, by: \.connection).mapValues { Set($0.map(\.isAuthorized)) }
            #expect(server.requests.count == 80)
            #expect(kinds.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func aConnectionOfAServerThatFailedToProveItselfIsClosed() async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .page(token: "forged") }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            for _ in 1...2 { _ = await #expect(throws: AuthorizationError.self) { try await client.execute(server.request()) } }
            #expect(server.requests.map(\.connection) == [1, 2, 1, 3])
            try #require(await server.events.contains(.closed(connection: 2)))
        }
    }

    @Test func aConnectionWhoseTicketWasRefusedIsNotKept() async throws {
        try await withServer(extension: ScriptedExtension(), script: { _ in .challenge }) { server, client in
            for _ in 1...2 { _ = try await client.execute(server.request()).text }
            #expect(server.requests.map(\.connection) == [1, 2, 1, 3])
        }
    }

    @Test func aLongBodyOfAChallengeIsNotReadToItsEnd() async throws {
        let script: ScriptedServer.Script = { request in
            guard request.field("Authorization") == nil else { return .page() }
            return .response(401, [("WWW-Authenticate", "Negotiate")], body: String(repeating: "x", count: 1 << 20))
        }
        try await withServer(extension: ScriptedExtension(), script: script) { server, client in
            for _ in 1...2 { _ = try await client.execute(server.request()).text }
            #expect(server.requests.map(\.connection) == [1, 2, 3, 2])
        }
    }

    @Test(arguments: [false, true]) func idleClientsAreBounded(isMultiplexed: Bool) async throws {
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
                #expect((lease.client.client === clients[position]) == (position > 0), "the one unused the longest is gone")
            }
            let second = try store.lease(for: identities[1], isMultiplexed: isMultiplexed)
            #expect((second.client.client === clients[1]) == isMultiplexed, "a client with one connection is leased once at a time")
        }
        try await store.shutdown()
    }

    private func identity(_ principal: String) throws -> ConnectionIdentity {
        ConnectionIdentity(
            origin: try Origin(url: "https://a.test/"),
            authorization: AuthorizationIdentity(principal: principal, servicePrincipal: "HTTP/a.test"),
            bindsChannel: true,
            channelBindings: nil
        )
    }

    @Test func afterAShutdownNothingIsSent() async throws {
        let client = try NegotiatingHTTPClient(extension: ScriptedExtension(), configuration: loopback())
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            _ = try await client.execute(server.request()).text
            try await client.shutdown()
            try await client.shutdown()
            let error = await #expect(throws: HTTPTransportError.self) { try await client.execute(server.request()) }
            #expect(error?.code == .shutDown)
            #expect(server.requests.count == 2)
        }
    }

    @Test func aShutdownEndsWhatIsInProgress() async throws {
        let client = try NegotiatingHTTPClient(extension: ScriptedExtension(), configuration: loopback())
        try await ScriptedServer.run({ _ in .silence }) { server in
            async let reply = client.execute(server.request())
            try #require(await server.events.contains(.request(connection: 1)))
            try await client.shutdown()
            do {
                _ = try await reply
                Issue.record("a response without a server's answer")
            } catch let error as HTTPTransportError {
                #expect(error.code == .shutDown)
            }
        }
    }

    @Test func aClientThatIsDroppedClosesItsConnections() async throws {
        try await ScriptedServer.run(ScriptedServer.protected) { server in
            do {
                let client = try NegotiatingHTTPClient(extension: ScriptedExtension(), configuration: loopback())
                _ = try await client.execute(server.request()).text
            }
            var open: Set = [1, 2]
            for await event in server.events {
                if case .closed(let connection) = event { open.remove(connection) }
                if open.isEmpty { break }
            }
            #expect(open.isEmpty)
        }
    }
}
