import Foundation
import FoundationNetworking
import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

@testable import NegotiateURLSession

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func `a connection that carried a ticket carries nothing else`() async throws {
        let script: ScriptedServer.Script = { request in
            request.target == "/open" || request.field("Authorization") != nil ? .page() : .challenge
        }
        try await withServer(script: script) { server, session in
            for path in ["/", "/open", "/", "/open"] { _ = try await session.send("GET", server.url("a.localhost", path)) }
            let expected: [ScriptedServer.Traffic] = [
                .init(connection: 1, isAuthorized: false), .init(connection: 2, isAuthorized: true),
                .init(connection: 1, isAuthorized: false),
                .init(connection: 1, isAuthorized: false), .init(connection: 2, isAuthorized: true),
                .init(connection: 1, isAuthorized: false),
            ]
            #expect(server.traffic == expected)
        }
    }

    @Test func `principals do not share a connection`() async throws {
        let count = Mutex(0)
        let sso = try scriptedExtension(answer: { request in
            var request = request
            let turn = count.withLock { count in
                count += 1
                return count
            }
            request.principal = turn.isMultiple(of: 2) ? "bob@EXAMPLE.TEST" : "alice@EXAMPLE.TEST"
            return try ScriptedExtension.grant(for: request, token: Array((request.principal ?? "").utf8))
        })
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            for _ in 1...4 { _ = try await session.send("GET", server.url()) }
            let authorized = server.requests.filter { $0.field("Authorization") != nil }
            #expect(authorized.map(\.connection) == [2, 3, 2, 3])
            #expect(Set(authorized.map { "\($0.connection) \($0.field("Authorization") ?? "")" }).count == 2)
        }
    }

    @Test func `nor do delegations and services`() async throws {
        let turn = Mutex(0)
        let identities = [
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a"),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/a", delegation: .always),
            AuthorizationIdentity(principal: "alice@EXAMPLE.TEST", servicePrincipal: "HTTP/b"),
        ]
        let sso = try scriptedExtension(answer: { request in
            let identity = turn.withLock { turn in
                defer { turn += 1 }
                return identities[turn % identities.count]
            }
            return try ScriptedExtension.grant(for: request, identity: identity)
        })
        try await withServer(extension: sso, script: ScriptedServer.protected) { server, session in
            for _ in 1...6 { _ = try await session.send("GET", server.url()) }
            #expect(server.traffic.filter(\.isAuthorized).map(\.connection) == [2, 3, 4, 2, 3, 4])
        }
    }

    @Test func `nor do origins`() async throws {
        try await withServer(script: ScriptedServer.protected) { server, session in
            for host in ["a.localhost", "b.localhost", "a.localhost", "b.localhost"] { _ = try await session.send("GET", server.url(host)) }
            let hosts = Dictionary(grouping: server.requests, by: \.connection).mapValues { Set($0.map { $0.field("Host") }) }
            #expect(hosts.count == 4)
            #expect(hosts.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func `concurrent exchanges keep apart`() async throws {
        try await withServer(script: ScriptedServer.protected) { server, session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...40 { group.addTask { try await session.send("GET", server.url()).body } }
                for try await text in group { #expect(text == "hello") }
            }
            let kinds = Dictionary(grouping: server.traffic, by: \.connection).mapValues { Set($0.map(\.isAuthorized)) }
            #expect(server.requests.count == 80)
            #expect(kinds.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func `every request has a ticket, whatever the server claims of its connection`() async throws {
        // Which connection a request went over can't be known: without a ticket the answer would prove nothing.
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge : .response(200, [("WWW-Authenticate", negotiate("final")), ("Persistent-Auth", "true")], body: "hello")
        }
        try await withServer(script: script) { server, session in
            for _ in 1...2 {
                let reply = try await session.send("GET", server.url())
                #expect(reply.delivery == .authenticated)
            }
            #expect(server.traffic.map(\.isAuthorized) == [false, true, false, true])
            #expect(Set(server.traffic.filter { !$0.isAuthorized }.map(\.connection)) == [1])
        }
    }

    @Test func `a connection of a server that failed to prove itself is closed`() async throws {
        let script: ScriptedServer.Script = { $0.field("Authorization") == nil ? .challenge : .page(token: "forged") }
        try await withServer(script: script) { server, session in
            for _ in 1...2 { _ = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) } }
            #expect(server.requests.map(\.connection) == [1, 2, 1, 3])
            try #require(await server.events.contains(.closed(connection: 2)))
        }
    }

    @Test func `a response that can't be used is not received to its end`() async throws {
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(negotiate("unasked"))\r\nContent-Length: 100\r\n\r\nnot all"
        try await withServer(script: { _ in .partial(head) }) { server, session in
            let error = await #expect(throws: AuthorizationError.self) { try await session.send("GET", server.url()) }
            #expect(error?.code == .invalidResponse)
            try #require(await server.events.contains(.closed(connection: 1)))
        }
    }

    @Test func `a connection whose ticket was refused is not kept`() async throws {
        try await withServer(script: { _ in .challenge }) { server, session in
            for _ in 1...2 { _ = try await session.send("GET", server.url()) }
            #expect(server.requests.map(\.connection) == [1, 2, 1, 3])
        }
    }

    @Test func `a long body of a challenge is not read to its end`() async throws {
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 1000000000\r\n\r\n"
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil ? .partial(head + String(repeating: "x", count: 1 << 20)) : .page()
        }
        try await withServer(script: script) { server, session in
            for _ in 1...2 { _ = try await session.send("GET", server.url()) }
            #expect(server.requests.map(\.connection) == [1, 2, 3, 2])
        }
    }

    @Test func `idle sessions are bounded`() throws {
        let store = SessionStore(template: .ephemeral)
        defer { store.close() }
        let origin = try Origin(url: "https://a.localhost/")
        let identities = (0...SessionStore.maximumIdleSessions).map {
            let identity = AuthorizationIdentity(principal: "user\($0)@EXAMPLE.TEST", servicePrincipal: "HTTP/a.localhost")
            return ConnectionIdentity(origin: origin, authorization: identity, bindsChannel: true, channelBindings: nil)
        }
        var sessions: [OpenSession] = []
        for identity in identities {
            let lease = try store.lease(for: identity)
            lease.keep(isAuthenticated: false)
            sessions.append(lease.session)
        }
        let leases = try identities.map { try store.lease(for: $0) }
        #expect(leases[0].session !== sessions[0], "the one unused the longest is gone")
        for position in 1..<leases.count { #expect(leases[position].session === sessions[position]) }
        let second = try store.lease(for: identities[1])
        #expect(second.session !== sessions[1], "a leased session is not leased again")
    }

    @Test func `cookies are shared, as the template says`() async throws {
        let script: ScriptedServer.Script = { request in
            switch (request.target, request.field("Authorization")) {
            case (_, nil): .challenge
            default: .response(200, [("WWW-Authenticate", negotiate("final")), ("Set-Cookie", "visit=1; Path=/")])
            }
        }
        try await withServer(script: script) { server, session in
            for _ in 1...2 { _ = try await session.send("GET", server.url()) }
            #expect(server.requests.map { $0.field("Cookie") } == [nil, nil, "visit=1", "visit=1"])
        }
    }

    @Test func `nothing is answered from a cache`() async throws {
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .challenge
                : .response(200, [("WWW-Authenticate", negotiate("final")), ("Cache-Control", "max-age=1000")], body: "for alice")
        }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let configuration = settings {
            $0.session.urlCache = cache
            $0.session.requestCachePolicy = .returnCacheDataElseLoad
        }
        try await withServer(configuration: configuration, script: script) { server, session in
            for _ in 1...2 {
                let reply = try await session.send("GET", server.url())
                #expect(reply.body == "for alice")
            }
            #expect(server.requests.count == 4)
            #expect(cache.currentMemoryUsage == 0)
        }
    }
}
