import Foundation
import HTTPNegotiate
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import NegotiateProxy

/// Tunnels, directly and through a scripted upstream proxy.
@Suite struct TunnelTests {
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"

    private static func connect(_ port: Int, host: String = "127.0.0.1", fields: String = "") -> String {
        "CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\n\(fields)\r\n"
    }

    @Test func `bytes that arrive with CONNECT are sent, and both directions end separately`() async throws {
        try await withEcho { echo in
            try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(echo) + "early ")
                    #expect(try await connection.head() == Self.established)
                    try await connection.send("late")
                    // The echo server answers the end with more text.
                    connection.finish()
                    #expect(try await connection.textToEnd() == "early late, and the end")
                }
                try await eventually { await proxy.status.openTunnels == 0 }
                #expect(await proxy.status.tunnels == 1)
            }
        }
    }

    @Test func `a large transfer arrives complete although the reader is slow`() async throws {
        let block = String(repeating: "0123456789abcdef", count: 4096)
        let blocks = 256
        try await withEcho { echo in
            try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(echo))
                    _ = try await connection.head()
                    // Far more than all buffers: the proxy must stop reading while this side does not read.
                    for _ in 1...blocks { try await connection.send(block) }
                    connection.finish()
                    let text = try await connection.textToEnd()
                    #expect(text.utf8.count == block.utf8.count * blocks + ", and the end".utf8.count)
                }
            }
        }
    }

    @Test func `two thousand tunnels work at the same time`() async throws {
        try await withEcho { echo in
            try await withProxy { proxy in
                let group = MultiThreadedEventLoopGroup.singleton
                var channels: [any Channel] = []
                for _ in 1...2000 {
                    let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: proxy.port).get()
                    channels.append(channel)
                    channel.writeAndFlush(ByteBuffer(string: Self.connect(echo)), promise: nil)
                }
                try await eventually { await proxy.status.openTunnels == 2000 }
                // A new one works, too.
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(echo) + "hello")
                    #expect(try await connection.text(upTo: "hello") == Self.established + "hello")
                }
                for channel in channels { channel.close(promise: nil) }
                try await eventually { await proxy.status.openTunnels == 0 }
            }
        }
    }

    /// The limit also applies to the client's request, which a busy machine may send late.
    @Test func `an idle tunnel closes`() async throws {
        try await withEcho { echo in
            try await withProxy {
                $0.limits.idleTime = .seconds(5)
            } _: { proxy in
                // The client sees an end or a reset, which textToEnd() also takes for one.
                do {
                    try await withRawConnection(port: proxy.port) { connection in
                        try await connection.send(Self.connect(echo))
                        #expect(try await connection.head() == Self.established)
                        #expect(try await connection.textToEnd() == "")
                    }
                } catch let error as IOError {
                    #expect(error.errnoCode == ECONNRESET)
                }
                try await eventually { await proxy.status.openTunnels == 0 }
            }
        }
    }

    @Test func `a tunnel that comes back is refused`() async throws {
        let port = Mutex(1)
        let routes = ScriptedRoutes { _ throws(RoutingError) in [.upstream(ProxyServer(host: "127.0.0.1", port: port.withLock { $0 }))] }
        try await withProxy(routes: routes) { proxy in
            port.withLock { $0 = proxy.port }
            let output = try await curl(["-v", "-x", proxy.url, "https://a.example/"])
            #expect(output.contains("< HTTP/1.1 508 Loop Detected"), "\(output)")
            #expect(routes.targets.count == 1)
        }
    }

    @Test func `connection attempts end when the request's time for them is over`() async throws {
        let dead = ProxyServer(host: "127.0.0.1", port: 1)
        let output = try await withProxy(routes: ScriptedRoutes(.upstream(dead), .direct)) {
            $0.limits.dialTime = .nanoseconds(1)
        } _: { proxy in
            try await curl(["-v", "-x", proxy.url, "https://127.0.0.1:1/"])
        }
        #expect(output.contains("No route accepted a connection in time."), "\(output)")
    }

    @Test func `a host that refuses connections gives a page`() async throws {
        let output = try await withProxy { proxy in
            try await curl(["-v", "-x", proxy.url, "https://127.0.0.1:1/"])
        }
        #expect(output.contains("< HTTP/1.1 502 Bad Gateway"))
        #expect(output.contains("Ksso-Proxy-Error: 127.0.0.1:1 refuses connections. Check that the server runs"))
    }

    @Test func `what follows a refused CONNECT is not read as a request`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(1) + "GET http://127.0.0.1:\(port)/ HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
                    return try await connection.textToEnd()
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502") && reply.contains("\r\nConnection: close\r\n"), "\(reply)")
            #expect(reply.ranges(of: "HTTP/1.1").count == 1)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a client answers the challenge of a proxy on the same connection`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Basic realm=\"x\"")]) : .partial("HTTP/1.1 200 OK\r\n\r\nhello")
        } _: { server in
            try await withProxy(routes: ScriptedRoutes(.upstream(ProxyServer(host: "127.0.0.1", port: server.port)))) {
                $0.passesProxyAuthorization = true
            } _: { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example"))
                    #expect(try await connection.text(upTo: "web server.\n").hasPrefix("HTTP/1.1 407"))
                    try await connection.send(Self.connect(443, host: "a.example", fields: "Proxy-Authorization: Basic YQ==\r\n"))
                    #expect(try await connection.text(upTo: "hello") == Self.established + "hello")
                }
            }
        }
    }

    @Test func `a reset of the server is one for the client`() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(ResetHandler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = server.localAddress?.port ?? 0
        try await withProxy { proxy in
            _ = await #expect(throws: IOError.self) {
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(port) + "hello")
                    #expect(try await connection.head() == Self.established)
                    _ = try await connection.text(upTo: "more")
                }
            }
        }
        try await server.close()
    }

    @Test func `a proxy that asks for a ticket is answered on the same connection`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Negotiate")], body: "who are you?") : .partial("HTTP/1.1 200 OK\r\n\r\nhello")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example", fields: "Proxy-Authorization: Basic secret\r\n"))
                    return try await connection.text(upTo: "hello")
                }
            }
            #expect(reply == Self.established + "hello")
            #expect(server.requests.map(\.connection) == [1, 1])
            #expect(server.requests.map { $0.field("Proxy-Authorization") } == [nil, "Negotiate Zmlyc3Q="])
            #expect(server.requests.map(\.target) == ["a.example:443", "a.example:443"])
            #expect(routes.targets.map(\.url) == ["https://a.example:443/"])
        }
    }

    @Test func `a proxy that closes after its challenge is answered on a new connection`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .closing(407, [("Proxy-Authenticate", "Negotiate")], body: "who are you?") : .partial("HTTP/1.1 200 OK\r\n\r\nhello")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example"))
                    return try await connection.text(upTo: "hello")
                }
            }
            #expect(reply == Self.established + "hello")
            #expect(server.requests.map(\.connection) == [1, 2])
        }
    }

    @Test(arguments: [
        ("localhost", [], "without naming a scheme"), ("localhost", [("Proxy-Authenticate", "Basic realm=\"x\"")], "it asks for Basic"),
        ("localhost", [("Proxy-Authenticate", "Negotiate Zm9v")], "carries a token"),
        ("127.0.0.1", [("Proxy-Authenticate", "Negotiate")], "address"),
    ])
    func `a challenge that cannot be answered gets no ticket, and the client no challenge`(
        host: String,
        fields: [(String, String)],
        reason: String
    ) async throws {
        try await ScriptedServer.run { _ in
            .response(407, fields, body: "who are you?")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: host, port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example"))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
            #expect(reply.contains(reason), "\(reply)")
            #expect(!reply.contains("Proxy-Authenticate"))
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a token of the proxy that does not verify ends the tunnel`() async throws {
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Negotiate")])
                : .partial("HTTP/1.1 200 OK\r\nProxy-Authenticate: Negotiate Zm9v\r\n\r\nhello")
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example"))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
        }
    }

    @Test func `a proxy that asks without end is left after four tokens`() async throws {
        try await ScriptedServer.run { request in
            let token = request.field("Proxy-Authorization") == nil ? "" : " bW9yZQ=="
            return .response(407, [("Proxy-Authenticate", "Negotiate\(token)")])
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            let reply = try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(443, host: "a.example"))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.contains("asked for another token after 4 requests"), "\(reply)")
            #expect(server.requests.count == 5)
        }
    }

    @Test func `a proxy that refuses connections is left for the next route, and both are reported`() async throws {
        try await withEcho { echo in
            let dead = ProxyServer(host: "127.0.0.1", port: 1)
            let routes = ScriptedRoutes(.upstream(dead), .direct)
            try await withProxy(routes: routes) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.connect(echo) + "hello")
                    #expect(try await connection.text(upTo: "hello") == Self.established + "hello")
                }
                #expect(await proxy.status.upstreams.map(\.isReachable) == [false])
            }
            #expect(routes.endings == ["127.0.0.1:1 failed"])
        }
    }

    @Test func `a route that cannot be chosen gives a page that says why`() async throws {
        let routes = ScriptedRoutes { _ throws(RoutingError) in throw RoutingError("The PAC file /a.pac cannot be read.") }
        try await withProxy(routes: routes) { proxy in
            let output = try await curl(["-v", "-x", proxy.url, "https://a.example/"])
            #expect(output.contains("Ksso-Proxy-Error: The PAC file /a.pac cannot be read."))
            let failure = try #require(await proxy.status.failures.first)
            #expect(failure.host == "a.example:443")
            #expect(failure.message == "The PAC file /a.pac cannot be read.")
        }
    }
}

/// Runs a server that returns what it receives, and `, and the end` when the client sends no more.
func withEcho<R: Sendable>(_ body: @Sendable (_ port: Int) async throws -> R) async throws -> R {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 1024)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    do {
        let result = try await body(channel.localAddress?.port ?? 0)
        try await channel.close().get()
        return result
    } catch {
        try? await channel.close().get()
        throw error
    }
}

/// Resets each connection from which something arrives.
private final class ResetHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.channel.reset() }
}

private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.writeAndFlush(data, promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed? = event as? ChannelEvent else { return }
        let channel = context.channel
        channel.writeAndFlush(ByteBuffer(string: ", and the end")).whenComplete { _ in channel.close(promise: nil) }
    }
}
