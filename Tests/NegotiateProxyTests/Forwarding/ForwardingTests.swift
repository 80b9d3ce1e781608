import Foundation
import HTTPNegotiate
import SignOnPolicy
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// Plain http requests, to scripted origins and through scripted upstream proxies.
@Suite struct ForwardingTests {
    private static let token = "Negotiate Zmlyc3Q="

    private static func get(_ authority: String, _ fields: String = "") -> String {
        "GET http://\(authority)/a HTTP/1.1\r\nHost: \(authority)\r\n\(fields)\r\n"
    }

    /// An origin that accepts the test's token.
    private static let origin: ScriptedServer.Script = { request in
        request.field("Authorization") == token
            ? .response(200, [("WWW-Authenticate", "Negotiate ZmluYWw=")], body: "hello \(request.body.utf8.count)") : .challenge
    }

    @Test func `a covered origin gets a ticket, and the client no trace of it`() async throws {
        try await ScriptedServer.run(Self.origin) { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.get("localhost:\(port)"))
                    return try await connection.text(upTo: "hello 0")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 200"))
            #expect(!reply.lowercased().contains("negotiate"))
            #expect(server.requests.map { $0.field("Authorization") } == [nil, Self.token])
            // The ticket's connection is not the one without credentials.
            #expect(server.requests.map(\.connection) == [1, 2])
        }
    }

    @Test func `a 401 of an origin that is not covered passes, and asks for one connection for each client`() async throws {
        try await ScriptedServer.run(Self.origin) { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.get("127.0.0.1:\(port)"))
                    let reply = try await connection.text(upTo: "who are you?")
                    // The client authenticates itself; its later requests use the same connection.
                    try await connection.send(Self.get("127.0.0.1:\(port)", "Authorization: \(Self.token)\r\n"))
                    let second = try await connection.text(upTo: "hello 0")
                    #expect(second.contains("WWW-Authenticate: Negotiate ZmluYWw="))
                    try await connection.send(Self.get("127.0.0.1:\(port)"))
                    _ = try await connection.text(upTo: "who are you?")
                    return reply
                }
            }
            #expect(reply.contains("WWW-Authenticate: Negotiate\r\n"))
            #expect(reply.contains("Proxy-Support: Session-Based-Authentication\r\n"))
            #expect(server.requests.map(\.connection) == [1, 2, 2])
        }
    }

    @Test func `a 407 of an origin gets nothing and does not reach the client`() async throws {
        try await ScriptedServer.run { _ in
            .response(407, [("Proxy-Authenticate", "Negotiate")])
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.get("localhost:\(port)"))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502"))
            #expect(!reply.contains("Proxy-Authenticate"))
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [0, 1000, 60_000], [false, true])
    func `a small body is sent again with the ticket`(size: Int, isChunked: Bool) async throws {
        let body = String(repeating: "x", count: size)
        try await ScriptedServer.run { request in
            Self.origin(request)
        } _: { server in
            let port = server.port
            let reply = try await withProxy {
                $0.limits.continueTime = .seconds(600)
            } _: { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
                    let chunk = size == 0 ? "" : "\(String(size, radix: 16))\r\n\(body)\r\n"
                    let text = isChunked ? "\(chunk)0\r\n\r\n" : body
                    try await connection.send(
                        "POST http://localhost:\(port)/ HTTP/1.1\r\nHost: localhost:\(port)\r\n\(framing)\r\n\r\n\(text)"
                    )
                    return try await connection.text(upTo: "hello \(size)")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 200"), "\(reply.prefix(300))")
            #expect(server.requests.last?.body.utf8.count == size)
        }
    }

    @Test func `a large body to an origin that is not covered is streamed`() async throws {
        try await ScriptedServer.run {
            .response(200, body: "hello \($0.body.utf8.count)")
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await curl(["-x", proxy.url, "--data-binary", String(repeating: "x", count: 100_000), "http://127.0.0.1:\(port)/"])
            }
            #expect(reply == "hello 100000")
        }
    }

    /// The server challenges the first request after its body, and the second one before it.
    @Test func `after a challenge that came too late for a long body, the next body waits longer for it`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ksso-body-\(UUID().uuidString)")
        try Data(repeating: 0x78, count: 200_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let heads = Mutex(0)
        try await ScriptedServer.run(
            Self.origin,
            early: { request in
                let count = heads.withLock { count in
                    count += 1
                    return count
                }
                return count == 2 ? .closing(401, [("WWW-Authenticate", "Negotiate")], body: "who are you?") : nil
            }
        ) { server in
            let url = "http://localhost:\(server.port)/"
            let replies = try await withProxy {
                $0.limits.continueTime = .zero
                $0.limits.lateContinueTime = .seconds(600)
            } _: { proxy in
                let upload = ["-i", "-x", proxy.url, "-T", file.path, "-H", "Expect:", url]
                return [try await curl(upload), try await curl(upload)]
            }
            #expect(replies[0].hasPrefix("HTTP/1.1 502"))
            #expect(replies[0].contains("Repeat the request: the body will wait longer for the challenge."), "\(replies[0])")
            #expect(replies[1].hasSuffix("hello 200000"), "\(replies[1])")
            #expect(server.requests.map { $0.field("Authorization") } == [nil, nil, Self.token])
            #expect(server.requests.map(\.body.utf8.count) == [200_000, 0, 200_000])
        }
    }

    /// As the error page of a late challenge advises.
    @Test func `a long body to a host of PreemptiveHosts carries the ticket after the first challenge`() async throws {
        let body = String(repeating: "x", count: 100_000)
        let credentials = try ScriptedExtension(change: { $0.preemptiveHosts = [try HostRule("localhost")] })
        try await ScriptedServer.run(Self.origin) { server in
            let url = "http://localhost:\(server.port)/"
            let replies = try await withProxy(credentials: credentials) {
                $0.limits.continueTime = .zero
            } _: { proxy in
                let upload = ["-x", proxy.url, "-H", "Expect:", "--data-binary", body, url]
                return [try await curl(upload), try await curl(upload)]
            }
            #expect(replies[0].contains("list the host in PreemptiveHosts"), "\(replies[0])")
            #expect(replies[1] == "hello 100000")
            #expect(server.requests.map { $0.field("Authorization") } == [nil, Self.token])
        }
    }

    @Test func `an upstream proxy that asks for a ticket is answered, for a request with a body too`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Negotiate")], body: "who are you?")
                : .response(200, [("Proxy-Authentication-Info", "Negotiate ZmluYWw=")], body: "hello \(request.body)")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send("POST http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3\r\n\r\nabc")
                    return try await connection.text(upTo: "hello abc")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 200"))
            #expect(!reply.contains("Proxy-"))
            #expect(server.requests.map(\.target) == ["http://a.example/x?y", "http://a.example/x?y"])
            #expect(server.requests.map { $0.field("Proxy-Authorization") } == [nil, Self.token])
            #expect(server.requests.allSatisfy { $0.field("Via")?.hasPrefix("1.1 ksso-") == true })
            #expect(routes.targets.map(\.url) == ["http://a.example/x"])
        }
    }

    /// A proxy may omit the proof, as squid does.
    @Test func `a response is discarded if the proxy's proof of identity is not valid`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Negotiate")])
                : .response(200, [("Proxy-Authentication-Info", "Negotiate Zm9v")], body: "evil")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.get("a.example"))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502"))
            #expect(!reply.contains("evil"))
        }
    }

    @Test(arguments: [false, true]) func `the client's own password for a proxy is forwarded only if that is configured`(passes: Bool)
        async throws
    {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Basic realm=\"x\"")], body: "who are you?") : .response(200, body: "hello")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "127.0.0.1", port: server.port)))
            let reply = try await withProxy(routes: routes) {
                $0.passesProxyAuthorization = passes
            } _: { proxy in
                try await curl(["-i", "-x", proxy.url, "--proxy-basic", "-U", "alice:secret", "http://a.example/"])
            }
            #expect(reply.hasPrefix(passes ? "HTTP/1.1 200" : "HTTP/1.1 502"))
            #expect(server.requests.first?.field("Proxy-Authorization") == (passes ? "Basic YWxpY2U6c2VjcmV0" : nil))
        }
    }

    @Test func `a proxy that gets tickets does not get the client's own password`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == Self.token
                ? .response(200, [("Proxy-Authentication-Info", "Negotiate ZmluYWw=")], body: "hello")
                : .response(407, [("Proxy-Authenticate", "Negotiate")])
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) {
                $0.passesProxyAuthorization = true
            } _: { proxy in
                try await curl(["-x", proxy.url, "--proxy-basic", "-U", "alice:secret", "http://a.example/"])
            }
            #expect(reply == "hello")
            #expect(server.requests.map { $0.field("Proxy-Authorization") } == [nil, Self.token])
        }
    }

    @Test func `without a session the page says how to sign in`() async throws {
        let credentials = try ScriptedExtension(answer: { _ in
            throw AuthorizationError(.notSignedIn, "No one is signed in to EXAMPLE.TEST. Sign in with: ksso login")
        })
        try await ScriptedServer.run(Self.origin) { server in
            let port = server.port
            try await withProxy(credentials: credentials) { proxy in
                let output = try await curl(["-v", "-x", proxy.url, "http://localhost:\(port)/"])
                #expect(output.contains("< Ksso-Proxy-Error: No one is signed in to EXAMPLE.TEST. Sign in with: ksso login"))
                #expect(await proxy.status.failures.first?.host == "localhost:\(port)")
            }
        }
    }

    @Test func `a connection is upgraded, and h2c is not asked for`() async throws {
        try await ScriptedServer.run { request in
            request.field("Upgrade") == "websocket"
                ? .partial("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes")
                : .response(200, body: "hello \(request.field("Upgrade") ?? "-") \(request.field("HTTP2-Settings") ?? "-")")
        } _: { server in
            let port = server.port
            try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    let fields = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
                    try await connection.send(Self.get("127.0.0.1:\(port)", fields))
                    #expect(try await connection.text(upTo: "hello - -").hasPrefix("HTTP/1.1 200"))
                    try await connection.send(Self.get("127.0.0.1:\(port)", "Connection: Upgrade\r\nUpgrade: websocket\r\n"))
                    let reply = try await connection.text(upTo: "frames")
                    #expect(reply.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
                    #expect(reply.contains("Upgrade: websocket\r\n"))
                }
            }
        }
    }

    @Test func `trailers and interim responses pass`() async throws {
        let text =
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n"
        try await ScriptedServer.run { _ in
            .partial(text)
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.get("127.0.0.1:\(port)"))
                    return try await connection.text(upTo: "X-Sum: 1\r\n\r\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(reply.hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"))
        }
    }

    @Test func `a client of HTTP 1.0 gets no chunks`() async throws {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        try await ScriptedServer.run { _ in
            .partial(text)
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send("GET http://127.0.0.1:\(port)/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    return try await connection.textToEnd()
                }
            }
            #expect(!reply.contains("chunked"))
            #expect(reply.hasSuffix("\r\n\r\nhello"))
        }
    }

    @Test func `a request that comes back is refused`() async throws {
        let port = Mutex(1)
        let routes = ScriptedRoutes { _ throws(RoutingError) in [.upstream(ProxyServer(host: "127.0.0.1", port: port.withLock { $0 }))] }
        let output = try await withProxy(routes: routes) { proxy in
            port.withLock { $0 = proxy.port }
            return try await curl(["-i", "-x", proxy.url, "http://a.example/"])
        }
        #expect(output.hasPrefix("HTTP/1.1 508 Loop Detected"))
    }
}
