import Foundation
import HTTPNegotiate
import Logging
import TestSupport
import Testing

@testable import NegotiateProxy

/// What a client on a raw socket gets from the proxy.
@Suite struct ServerTests {
    private static func request(_ port: Int, _ path: String = "/", fields: String = "", method: String = "GET") -> String {
        "\(method) http://127.0.0.1:\(port)\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(fields)\r\n"
    }

    @Test func `requests of one client are forwarded over one connection to the origin`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, [("X-Reply", "a")], body: "hello")
        } _: { server in
            let port = server.port
            let heads = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    var heads: [String] = []
                    for _ in 1...2 {
                        try await connection.send(Self.request(port, "/a?b", fields: "Connection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n"))
                        heads.append(try await connection.text(upTo: "hello"))
                    }
                    return heads
                }
            }
            for head in heads {
                #expect(head.hasPrefix("HTTP/1.1 200 Scripted\r\n"))
                #expect(head.contains("X-Reply: a\r\n"))
                #expect(head.contains("Via: 1.1 ksso\r\n"))
            }
            let requests = server.requests
            #expect(requests.map(\.connection) == [1, 1])
            #expect(requests.first?.target == "/a?b")
            #expect(requests.first?.field("Host") == "127.0.0.1:\(port)")
            #expect(requests.first?.field("X-End") == "2")
            #expect(requests.first?.field("X-Hop") == nil)
            // Web sites cannot recognize the proxy of a user.
            #expect(requests.first?.field("Via") == "1.1 ksso")
        }
    }

    @Test func `two clients never share a connection to an origin`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            try await withProxy { proxy in
                for _ in 1...2 {
                    _ = try await withRawConnection(port: proxy.port) { connection in
                        try await connection.send(Self.request(port))
                        return try await connection.text(upTo: "hello")
                    }
                }
            }
            #expect(server.requests.map(\.connection) == [1, 2])
        }
    }

    @Test func `a request that is not for a proxy gets a page that says how to set the proxy`() async throws {
        let reply = try await withProxy { proxy in
            try await withRawConnection(port: proxy.port) { connection in
                try await connection.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n\r\n")
                return try await connection.textToEnd()
            }
        }
        #expect(reply.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(reply.contains("Ksso-Proxy-Error: The request was refused: this is a proxy, and the request is for a web server; set the"))
    }

    @Test(arguments: [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length : 5\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "X-A: b\r\n Content-Length: 5\r\n",
        "X-A: b\nContent-Length: 5\r\n", "Connection: Content-Length\r\nContent-Length: 5\r\n",
    ])
    func `nothing of an ambiguous request reaches the origin`(fields: String) async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(
                        Self.request(port, fields: fields, method: "POST") + "0\r\n\r\n" + Self.request(port, "/smuggled")
                    )
                    return try await connection.textToEnd()
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 400") || reply.hasPrefix("HTTP/1.1 501"), "\(reply)")
            #expect(reply.ranges(of: "HTTP/1.1").count == 1)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "SSH-2.0-x\r\n\r\n",
    ])
    func `an ambiguous response is not forwarded`(text: String) async throws {
        try await ScriptedServer.run { _ in
            .raw(text)
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.request(port))
                    return try await connection.text(upTo: "web server.\n")
                }
            }
            #expect(reply.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"), "\(reply)")
            #expect(reply.contains("was refused: "))
        }
    }

    @Test func `a response that ends too early ends the client's connection`() async throws {
        try await ScriptedServer.run { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        } _: { server in
            let port = server.port
            let reply = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.request(port))
                    return try await connection.textToEnd()
                }
            }
            #expect(reply.hasSuffix("5\r\nhello\r\n"))
        }
    }

    @Test func `an unsolicited response on an idle connection is never taken for an answer`() async throws {
        try await ScriptedServer.run { request in
            request.connection == 1
                ? .partial("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                : .response(200, body: "good")
        } _: { server in
            let port = server.port
            let second = try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.request(port))
                    _ = try await connection.text(upTo: "ok")
                    try await connection.send(Self.request(port))
                    return try await connection.text(upTo: "good")
                }
            }
            #expect(!second.contains("evil"))
            #expect(server.requests.map(\.connection) == [1, 2])
        }
    }

    @Test func `an idle client is disconnected, and more clients than the limit get a page`() async throws {
        let (idle, refused) = try await withProxy { configuration in
            configuration.limits.clients = 1
            configuration.limits.idleTime = .seconds(6)
        } _: { proxy in
            try await withRawConnection(port: proxy.port) { first in
                try await first.send("GET")
                try await eventually { await proxy.status.openClients == 1 }
                let refused = try await withRawConnection(port: proxy.port) { second in
                    try await second.textToEnd()
                }
                return (try await first.textToEnd(), refused)
            }
        }
        #expect(idle.isEmpty)
        #expect(refused.hasPrefix("HTTP/1.1 503"))
    }

    @Test func `refused connections do not take the places of clients`() async throws {
        let replies = try await withProxy { configuration in
            configuration.users = []
            configuration.limits.clients = 1
        } _: { proxy in
            try await withRawConnection(port: proxy.port) { first in
                let reply = try await first.head()
                // The first client has not closed its connection.
                let second = try await withRawConnection(port: proxy.port) { try await $0.head() }
                #expect(await proxy.status.openClients == 0)
                return [reply, second]
            }
        }
        #expect(replies.allSatisfy { $0.hasPrefix("HTTP/1.1 403") }, "\(replies)")
    }

    @Test func `a head that is too large is refused`() async throws {
        let reply = try await withProxy {
            $0.limits.headSize = 1024
        } _: { proxy in
            try await withRawConnection(port: proxy.port) { connection in
                try await connection.send("GET http://a.example/ HTTP/1.1\r\nX-A: " + String(repeating: "a", count: 2000))
                return try await connection.textToEnd()
            }
        }
        #expect(reply.hasPrefix("HTTP/1.1 431 "))
    }

    @Test(.timeLimit(.minutes(1))) func `the request of a client that is gone ends`() async throws {
        try await ScriptedServer.run { _ in
            .silence
        } _: { server in
            let port = server.port
            try await withProxy { proxy in
                var events = server.events.makeAsyncIterator()
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.request(port))
                    try await eventually { !server.requests.isEmpty }
                }
                let seen = [await events.next(), await events.next()]
                #expect(seen == [.request(connection: 1), .closed(connection: 1)])
                try await eventually { await proxy.status.openClients == 0 }
            }
        }
    }

    @Test func `OPTIONS is forwarded as often as it permits`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            try await withProxy { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    try await connection.send(Self.request(port, fields: "Max-Forwards: 0\r\n", method: "OPTIONS"))
                    #expect(try await connection.head().hasPrefix("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"))
                    try await connection.send(Self.request(port, fields: "Max-Forwards: 5\r\n", method: "OPTIONS"))
                    #expect(try await connection.text(upTo: "hello").hasPrefix("HTTP/1.1 200"))
                    try await connection.send(Self.request(port, fields: "Max-Forwards: -1\r\n", method: "OPTIONS"))
                    #expect(try await connection.head().hasPrefix("HTTP/1.1 400"))
                }
            }
            #expect(server.requests.map { $0.field("Max-Forwards") } == ["4"])
        }
    }

    @Test func `a Host that is not that of the target is replaced`() async throws {
        try await ScriptedServer.run { _ in
            .response(200, body: "hello")
        } _: { server in
            let port = server.port
            let output = try await withProxy { proxy in
                try await curl(["-x", proxy.url, "-H", "Host: other.example", "http://127.0.0.1:\(port)/"])
            }
            #expect(output == "hello")
            #expect(server.requests.map { $0.field("Host") } == ["127.0.0.1:\(port)"])
        }
    }

    @Test func `refused users do not fill the list of failures`() async throws {
        let status = try await withProxy {
            $0.users = []
        } _: { proxy in
            for _ in 1...3 {
                let reply = try await withRawConnection(port: proxy.port) { try await $0.head() }
                #expect(reply.hasPrefix("HTTP/1.1 403"))
            }
            return await proxy.status
        }
        #expect(status.failures.map(\.status) == [403])
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.1", "::"]) func `an address that other machines can reach is refused`(host: String) async throws {
        let configuration = ProxyConfiguration(listeners: [.tcp(host: host, port: 0)], users: [geteuid()])
        let proxy = LocalProxy(
            configuration: configuration,
            credentials: try ScriptedExtension(),
            routes: ScriptedRoutes(.direct),
            logger: .init(label: "test")
        )
        await #expect(throws: ListenerError.self) { try await proxy.run() }
    }

    @Test func `a stopped proxy leaves no socket behind`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString).sock").path
        let reply = try await withProxy {
            $0.listeners.append(.unix(path: path))
        } _: { _ in
            try await curl(["--unix-socket", path, "http://127.0.0.1/"])
        }
        #expect(reply.contains("this is a proxy"))
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
