import Foundation
import FoundationNetworking
import HTTPNegotiate
import TestSupport
import Testing

@testable import NegotiateURLSession

/// The pool of URLSessions, and what its sessions share.
@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test func `the number of idle URLSessions is limited`() throws {
        let store = SessionPool(template: .ephemeral)
        defer { store.close() }
        let origin = try Origin(url: "https://a.localhost/")
        let identities = (0...SessionPool.maximumIdleSessions).map {
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
        #expect(leases[0].session !== sessions[0], "the least recently used session is gone")
        for position in 1..<leases.count { #expect(leases[position].session === sessions[position]) }
        let second = try store.lease(for: identities[1])
        #expect(second.session !== sessions[1], "a leased session is not leased again")
    }

    @Test func `the sessions share the cookies of the template`() async throws {
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

    @Test func `no response comes from a URL cache`() async throws {
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
