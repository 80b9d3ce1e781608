import Foundation
import HTTPNegotiate
import TestSupport
import Testing

@testable import NegotiateProxy

/// Which requests get no ticket at an origin that the profile covers.
@Suite struct OriginCredentialsTests {
    private static let token = "Negotiate Zmlyc3Q="

    /// Answers the test's token with a page, and another request with a challenge that has more fields.
    private static func script(_ fields: [(String, String)] = []) -> ScriptedServer.Script {
        { request in
            request.field("Authorization") == token
                ? .response(200, [("WWW-Authenticate", "Negotiate ZmluYWw=")], body: "secret page")
                : .response(401, [("WWW-Authenticate", "Negotiate")] + fields, body: "who are you?")
        }
    }

    @Test(arguments: ["http://evil.example", "null", "http://localhost:1", "https://localhost:PORT", "http://localhost:PORT, null", ""])
    func `a page of another web site gets no ticket and reads no answer`(source: String) async throws {
        try await ScriptedServer.run(Self.script()) { server in
            let port = server.port
            let origin = source.replacing("PORT", with: "\(port)")
            let (reply, failures) = try await withProxy { proxy in
                let reply = try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(
                        "GET http://localhost:\(port)/ HTTP/1.1\r\nHost: localhost:\(port)\r\nOrigin: \(origin)\r\n\r\n"
                    )
                    return try await connection.text(upTo: "?")
                }
                return (reply, await proxy.status.failures)
            }
            #expect(failures.map(\.host) == ["localhost:\(port)"])
            #expect(failures.allSatisfy { $0.message.hasPrefix("The request is from a page of another web site") })
            #expect(reply.hasPrefix("HTTP/1.1 401"))
            #expect(reply.contains("Ksso-Proxy-Error: The request is from a page of another web site (Origin: \(origin))"), "\(reply)")
            #expect(server.requests.map { $0.field("Authorization") } == [nil])
        }
    }

    @Test func `a page of the origin itself gets a ticket`() async throws {
        try await ScriptedServer.run(Self.script()) { server in
            let url = "http://localhost:\(server.port)"
            let output = try await withProxy { proxy in try await curl(["-x", proxy.url, "-H", "Origin: \(url)", "\(url)/"]) }
            #expect(output == "secret page")
        }
    }

    @Test func `the origin that is not covered gets no reason`() async throws {
        try await ScriptedServer.run(Self.script()) { server in
            let port = server.port
            let output = try await withProxy { proxy in
                try await curl(["-i", "-x", proxy.url, "-H", "Origin: null", "http://127.0.0.1:\(port)/"])
            }
            #expect(output.hasPrefix("HTTP/1.1 401"))
            #expect(!output.contains("Ksso-Proxy-Error"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can run curl as another user."))
    func `another user who is admitted gets tickets for upstream proxies only`() async throws {
        let nobody: UInt32 = 65_534
        try await ScriptedServer.run { request in
            request.field("Proxy-Authorization") == nil
                ? .response(407, [("Proxy-Authenticate", "Negotiate")])
                : .response(
                    401,
                    [
                        ("WWW-Authenticate", "Negotiate"), ("Proxy-Support", "Session-Based-Authentication"),
                        ("Proxy-Authentication-Info", "Negotiate ZmluYWw="),
                    ]
                )
        } _: { server in
            let port = server.port
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: port)))
            let reply = try await withProxy(routes: routes) {
                $0.users.insert(nobody)
            } _: { proxy in
                try await curl(["-i", "-x", proxy.url, "http://localhost:\(port)/"], user: "nobody")
            }
            #expect(reply.hasPrefix("HTTP/1.1 401"), "\(reply)")
            #expect(reply.contains("Ksso-Proxy-Error: User \(nobody) gets no ticket for web servers"), "\(reply)")
            #expect(server.requests.map { $0.field("Authorization") } == [nil, nil])
            #expect(server.requests.map { $0.field("Proxy-Authorization") } == [nil, Self.token])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can run curl as another user."), arguments: [nil, "nobody"], [false, true])
    func `only requests of the proxy's own user may prompt`(user: String?, opensTunnel: Bool) async throws {
        let credentials = try ScriptedExtension()
        try await ScriptedServer.run { _ in
            .response(407, [("Proxy-Authenticate", "Negotiate")])
        } _: { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: server.port)))
            _ = try await withProxy(credentials: credentials, routes: routes) {
                $0.users.insert(65_534)
                $0.isUserInterfaceEnabled = true
            } _: { proxy in
                try await curl(["-i", "-x", proxy.url, "http://a.test/"] + (opensTunnel ? ["-p"] : []), user: user)
            }
        }
        let mayPrompt = credentials.requests.map(\.isUserInterfaceEnabled)
        #expect(!mayPrompt.isEmpty && mayPrompt.allSatisfy { $0 == (user == nil) })
    }

    @Test(arguments: [("localhost", true), ("localhost", false), ("127.0.0.1", true)])
    func `an origin behind a proxy gets a ticket only if the proxy is covered and keeps connections apart`(
        host: String,
        supports: Bool
    ) async throws {
        let support = [("Proxy-Support", "Session-Based-Authentication"), ("Connection", "Proxy-Support")]
        try await ScriptedServer.run(Self.script(supports ? support : [])) { server in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: host, port: server.port)))
            let output = try await withProxy(routes: routes) { proxy in
                try await curl(["-i", "-x", proxy.url, "http://a.localhost/"])
            }
            if host == "localhost", supports {
                #expect(output.hasPrefix("HTTP/1.1 200"), "\(output)")
            } else {
                #expect(output.hasPrefix("HTTP/1.1 401"), "\(output)")
                #expect(output.contains("Ksso-Proxy-Error: The "), "\(output)")
                // What the proxy does not say about its connections, the client is not told either.
                #expect(output.contains("\r\nProxy-Support: Session-Based-Authentication") == supports, "\(output)")
                #expect(server.requests.map { $0.field("Authorization") } == [nil])
            }
        }
    }

    @Test func `a ticket does not go through a proxy that a route names after the challenge`() async throws {
        try await ScriptedServer.run(Self.script([("Connection", "close")])) { server in
            let port = server.port
            let routes = ChangingRoutes([.direct, .upstream(ProxyServer(host: "127.0.0.1", port: port))])
            let output = try await withProxy(routes: routes) { proxy in
                try await curl(["-i", "-x", proxy.url, "http://localhost:\(port)/"])
            }
            #expect(output.hasPrefix("HTTP/1.1 401"), "\(output)")
            #expect(output.contains("Ksso-Proxy-Error: The route leads through the proxy 127.0.0.1:\(port)"), "\(output)")
            #expect(server.requests.allSatisfy { $0.field("Authorization") == nil })
        }
    }
}

/// Routes of which each request for one gets the next; the last one stays.
private actor ChangingRoutes: RouteSource {
    private var rest: [ProxyRoute]

    init(_ routes: [ProxyRoute]) { rest = routes }

    func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute] {
        rest.count > 1 ? [rest.removeFirst()] : rest
    }

    func connectionEnded(to server: ProxyServer, isEstablished: Bool) async {}
}
