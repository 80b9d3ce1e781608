import Foundation
import HTTPNegotiate
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// Which connection to which upstream proxy carries a request.
@Suite struct UpstreamTests {
    private static func get(_ path: String, _ fields: String = "", host: String = "a.example") -> String {
        "GET http://\(host)\(path) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n"
    }

    private static func upstream(_ server: ScriptedServer, host: String = "localhost") -> ProxyRoute {
        .upstream(ProxyServer(host: host, port: server.port))
    }

    /// A proxy that authenticates connections, and takes later requests on one for requests of the same user. It answers
    /// `hello CREDENTIALS.`
    private static func bindingProxy(_ challenge: String = "Negotiate") -> ScriptedServer.Script {
        let users = Mutex<[Int: String]>([:])
        return { request in
            let value = request.field("Proxy-Authorization")
            let user = users.withLock { users in
                if let value { users[request.connection] = value }
                return users[request.connection]
            }
            guard let user else { return .response(407, [("Proxy-Authenticate", challenge)], body: "who are you?") }
            let proof: [(String, String)] =
                value == nil || challenge != "Negotiate" ? [] : [("Proxy-Authentication-Info", "Negotiate ZmluYWw=")]
            return .response(200, proof, body: "hello \(user).")
        }
    }

    @Test func `a request does not use the kept connection of another route`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "first.")
        } _: { first in
            try await ScriptedServer.run { _ in
                .response(200, body: "second.")
            } _: { second in
                let (left, right) = (Self.upstream(first), Self.upstream(second))
                let routes = ScriptedRoutes { target throws(RoutingError) in [target.url.hasSuffix("/b") ? right : left] }
                try await withProxy(routes: routes) { proxy in
                    try await withRawConnection(port: proxy.port) { connection in
                        for (path, answer) in [("/a", "first."), ("/b", "second."), ("/b", "second."), ("/a", "first.")] {
                            try await connection.send(Self.get(path))
                            #expect(try await connection.head().hasPrefix("HTTP/1.1 200"))
                            #expect(try await connection.text(upTo: ".") == answer)
                        }
                    }
                }
                #expect(first.requests.map(\.target) == ["http://a.example/a", "http://a.example/a"])
                #expect(second.requests.map(\.connection) == [1, 1])
            }
        }
    }

    @Test func `a connection that a proxy knows as alice's carries no request of bob`() async throws {
        let principal = Mutex("alice")
        let identity: @Sendable () -> AuthorizationIdentity = {
            AuthorizationIdentity(principal: principal.withLock { $0 } + "@EXAMPLE.TEST", servicePrincipal: "HTTP/localhost")
        }
        let credentials = try ScriptedExtension(
            answer: { try ScriptedExtension.grant(for: $0, identity: identity(), token: Array(principal.withLock { $0 }.utf8)) },
            whoAnswers: { _ in identity() }
        )
        try await ScriptedServer.run(Self.bindingProxy()) { server in
            try await withProxy(credentials: credentials, routes: ScriptedRoutes(Self.upstream(server))) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    for (user, token) in [("alice", "YWxpY2U="), ("alice", "YWxpY2U="), ("bob", "Ym9i"), ("bob", "Ym9i")] {
                        principal.withLock { $0 = user }
                        try await connection.send(Self.get("/"))
                        let text = try await connection.text(upTo: "hello Negotiate \(token).")
                        #expect(text.ranges(of: "HTTP/1.1").count == 1, "\(text)")
                    }
                }
            }
            // The second request of each user uses the connection of the first.
            #expect(server.requests.map(\.connection) == [1, 1, 1, 2, 2, 2])
        }
    }

    @Test func `clients that take turns are never taken for each other by a proxy that authenticates connections`() async throws {
        try await ScriptedServer.run(Self.bindingProxy("NTLM")) { server in
            try await withProxy(routes: ScriptedRoutes(Self.upstream(server, host: "127.0.0.1"))) {
                $0.passesProxyAuthorization = true
            } _: { proxy in
                let (aliceTurns, toAlice) = AsyncStream.makeStream(of: Void.self)
                let (bobTurns, toBob) = AsyncStream.makeStream(of: Void.self)
                async let alice: Void = Self.requests(of: "alice", proxy.port, aliceTurns, then: toBob)
                async let bob: Void = Self.requests(of: "bob", proxy.port, bobTurns, then: toAlice)
                toAlice.yield()
                _ = try await (alice, bob)
            }
            #expect(server.requests.map(\.connection) == [1, 2, 1, 2, 1, 2])
        }
    }

    /// Sends three requests over one connection, each in its turn.
    private static func requests(
        of user: String,
        _ port: Int,
        _ turns: AsyncStream<Void>,
        then next: AsyncStream<Void>.Continuation
    ) async throws {
        defer { next.finish() }
        try await withRawConnection(port: port) { connection in
            var turn = 0
            for await _ in turns {
                turn += 1
                try await connection.send(get("/", turn == 1 ? "Proxy-Authorization: NTLM \(user)\r\n" : ""))
                let text = try await connection.text(upTo: "hello NTLM \(user).")
                #expect(text.ranges(of: "HTTP/1.1").count == 1, "\(text)")
                next.yield()
                if turn == 3 { break }
            }
        }
    }

    @Test func `neither a tunnel nor a kept connection is used with other credentials for the proxy`() async throws {
        try await ScriptedServer.run { request in
            request.method == "CONNECT"
                ? .partial("HTTP/1.1 200 OK\r\n\r\nhello \(request.field("Proxy-Authorization") ?? "-").")
                : .response(200, body: "hello \(request.field("Proxy-Authorization") ?? "-").")
        } _: { server in
            try await withProxy(routes: ScriptedRoutes(Self.upstream(server, host: "127.0.0.1"))) {
                $0.passesProxyAuthorization = true
            } _: { proxy in
                for user in ["alice", "bob"] {
                    try await withRawConnection(port: proxy.port) { connection in
                        let fields = "Host: a.example:443\r\nProxy-Authorization: Basic \(user)\r\n"
                        try await connection.send("CONNECT a.example:443 HTTP/1.1\r\n\(fields)\r\n")
                        #expect(try await connection.text(upTo: "hello Basic \(user).").hasPrefix("HTTP/1.1 200"))
                    }
                }
                try await withRawConnection(port: proxy.port) { connection in
                    for user in ["alice", "alice", "bob"] {
                        try await connection.send(Self.get("/", "Proxy-Authorization: Basic \(user)\r\n"))
                        #expect(try await connection.text(upTo: "hello Basic \(user).").ranges(of: "HTTP/1.1").count == 1)
                    }
                }
            }
            #expect(server.requests.map(\.connection) == [1, 2, 3, 3, 4])
        }
    }

    @Test(arguments: [ScriptedServer.Reply.drop, .silence], [true, false])
    func `a proxy that accepts a connection and does not answer is left for the next one`(
        reply: ScriptedServer.Reply,
        opensTunnel: Bool
    ) async throws {
        // Another request than CONNECT may take long.
        if case .silence = reply, !opensTunnel { return }
        try await ScriptedServer.run { _ in
            reply
        } _: { dead in
            try await ScriptedServer.run { request in
                request.method == "CONNECT" ? .partial("HTTP/1.1 200 OK\r\n\r\nhello") : .response(200, body: "hello")
            } _: { server in
                let routes = ScriptedRoutes(Self.upstream(dead), Self.upstream(server))
                try await withProxy(routes: routes) {
                    if case .silence = reply { $0.limits.failoverTime = .milliseconds(200) }
                } _: { proxy in
                    try await withRawConnection(port: proxy.port) { connection in
                        try await connection.send(
                            opensTunnel ? "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n" : Self.get("/")
                        )
                        #expect(try await connection.text(upTo: "hello").hasPrefix("HTTP/1.1 200"))
                    }
                    // A proxy that is silent may be waiting for a target that does not answer, so that it does not count as failed.
                    let hasFailed = if case .drop = reply { true } else { false }
                    #expect(await proxy.status.upstreams.contains { $0.isReachable == false } == hasFailed)
                    let failures = hasFailed ? ["localhost:\(dead.port) failed"] : []
                    #expect(routes.endings == failures + ["localhost:\(server.port) established"])
                }
                // The silent server may read its request after the proxy has left it.
                try await eventually { dead.requests.count == 1 }
            }
        }
    }

    @Test func `a request that must not be repeated goes to one proxy only`() async throws {
        try await ScriptedServer.run { _ in
            .drop
        } _: { dead in
            try await ScriptedServer.run { _ in
                .response(200, body: "hello")
            } _: { server in
                let routes = ScriptedRoutes(Self.upstream(dead), Self.upstream(server))
                let output = try await withProxy(routes: routes) { proxy in
                    try await curl(["-i", "-x", proxy.url, "-d", "text", "http://a.example/"])
                }
                #expect(output.hasPrefix("HTTP/1.1 502"), "\(output)")
                #expect(server.requests.isEmpty)
                #expect(routes.endings == ["localhost:\(dead.port) failed"])
            }
        }
    }
}
