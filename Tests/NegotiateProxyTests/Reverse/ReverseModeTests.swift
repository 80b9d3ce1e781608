import Foundation
import HTTPNegotiate
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import NIOSSL
import SignOnPolicy
import TestSupport
import Testing

@testable import NegotiateProxy

/// The proxy in front of one https server, with real tickets where a server decides about them.
@Suite(.testRealm(users: ["alice": "alice-secret"], services: ["HTTP/localhost"]))
struct ReverseModeTests {
    let realm: TestRealm

    init() throws { realm = try TestRealm.required() }

    /// Runs a closure with the URL of a proxy in front of a server on this machine.
    private func whileForwarding<R: Sendable>(
        to origin: String,
        trusting certificate: String?,
        credentials: (any CredentialExtension)? = nil,
        routes: any RouteSource = ScriptedRoutes(.direct),
        _ body: @escaping @Sendable (RunningProxy) async throws -> R
    ) async throws -> R {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let certificate { tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificate)) }
        let destination = try ReverseDestination(try Origin(url: origin), tls: tls)
        return try await withProxy(credentials: credentials, routes: routes) {
            $0.destination = destination
        } _: {
            try await body($0)
        }
    }

    @Test func `Apache gets tickets over https, and bodies of any size`() async throws {
        let sso = try await realm.signedInExtension(hosts: ["localhost"])
        let file = realm.newPath()
        try Data(repeating: 0x78, count: 3_000_000).write(to: URL(filePath: file))
        try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(usesTLS: true)) { server in
            let output = try await whileForwarding(to: server.url, trusting: server.certificatePath, credentials: sso) { proxy in
                let pages = try await curl(["\(proxy.url)/hello", "\(proxy.url)/other", "\(proxy.url)/open"])
                let small = try await curl(["-d", "name=value", "\(proxy.url)/hello"])
                let large = try await curl(["--data-binary", "@\(file)", "\(proxy.url)/hello"])
                return pages + small + large
            }
            let hello = "Hello alice@EXAMPLE.TEST\n"
            #expect(output == hello + "Other alice@EXAMPLE.TEST\nopen\n" + hello + hello)
        }
    }

    @Test func `a server that requires channel bindings gets those of its certificate`() async throws {
        let sso = try await realm.signedInExtension(hosts: ["localhost"])
        let identity = try await realm.makeServerIdentity()
        let options = AcceptorServerOptions(identity: identity, channelBindings: .required(try identity.channelBindings()))
        try await withAcceptorServer(realm: realm, options) { server in
            let output = try await whileForwarding(to: server.url, trusting: identity.certificatePath, credentials: sso) { proxy in
                try await curl(["\(proxy.url)/one", "\(proxy.url)/two"])
            }
            #expect(output == "Hello alice@EXAMPLE.TEST\nHello alice@EXAMPLE.TEST\n")
        }
    }

    @Test func `a ticket is bound to the certificate of its own connection`() async throws {
        let (first, second) = (try await realm.makeServerIdentity(), try await realm.makeServerIdentity(.rsaSHA256))
        let trusted = realm.newPath()
        try [first, second].map { try String(contentsOfFile: $0.certificatePath, encoding: .utf8) }.joined()
            .write(toFile: trusted, atomically: true, encoding: .utf8)
        let sso = try ScriptedExtension()
        let script: ScriptedServer.Script = { request in
            request.field("Authorization") == nil
                ? .closing(401, [("WWW-Authenticate", "Negotiate")])
                : .response(200, [("WWW-Authenticate", "Negotiate ZmluYWw=")], body: "page")
        }
        // The certificate changes after the challenge.
        try await ScriptedServer.run(script, identities: [first, second, second]) { server in
            let origin = "https://localhost:\(server.port)"
            let page = try await whileForwarding(to: origin, trusting: trusted, credentials: sso) { proxy in
                try await curl(["\(proxy.url)/"])
            }
            #expect(page == "page")
            // The ticket for the first certificate was not sent.
            #expect(server.requests.map { $0.field("Authorization") != nil } == [false, true])
            let bindings: [[UInt8]?] = try [first, second].map { try $0.channelBindings().applicationData }
            #expect(sso.requests.map(\.channelBindings) == bindings)
        }
    }

    @Test(arguments: [false, true]) func `a certificate that is not trusted or for another name gets no request`(isTrusted: Bool)
        async throws
    {
        let identity = try await realm.makeServerIdentity(host: isTrusted ? "other.test" : "localhost")
        try await ScriptedServer.run(
            { _ in
                .response(200)
            },
            identities: [identity]
        ) { server in
            let port = server.port
            let certificate = isTrusted ? identity.certificatePath : nil
            let reply = try await whileForwarding(to: "https://localhost:\(port)", trusting: certificate) { proxy in
                try await curl(["-i", "\(proxy.url)/"])
            }
            #expect(reply.hasPrefix("HTTP/1.1 502"))
            let reason = isTrusted ? "its certificate is for another name" : "its certificate is not trusted, or not currently valid"
            #expect(reply.contains("\r\n\r\nThe TLS connection with https://localhost:\(port) failed: \(reason)."), "\(reply)")
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a server without TLS is named`() async throws {
        try await ScriptedServer.run({ _ in
            .raw("HTTP/1.1 400 Bad Request\r\n\r\n")
        }) { server in
            let reply = try await whileForwarding(to: "https://localhost:\(server.port)", trusting: nil) { proxy in
                try await curl(["-i", "\(proxy.url)/"])
            }
            #expect(reply.contains("it does not use TLS on this port, but possibly plain http"), "\(reply)")
        }
    }

    @Test func `redirects and cookies are those of the browser's address`() async throws {
        let identity = try await realm.makeServerIdentity()
        try await ScriptedServer.run(
            { request in
                request.target == "/start"
                    ? .response(
                        302,
                        [
                            ("Location", "https://\(request.field("Host") ?? "")/next"), ("Set-Cookie", "a=b; Secure; Domain=localhost"),
                            ("Strict-Transport-Security", "max-age=1"),
                        ]
                    ) : .response(200, body: "\(request.field("Cookie") ?? "no cookie"), \(request.field("Referer") ?? "")")
            },
            identities: [identity]
        ) { server in
            let port = server.port
            let reply = try await whileForwarding(to: "https://localhost:\(port)", trusting: identity.certificatePath) { proxy in
                try await curl(["-iL", "-b", "", "-e", "\(proxy.url)/page", "\(proxy.url)/start"])
            }
            #expect(reply.hasSuffix("a=b, https://localhost:\(port)/page"), "\(reply)")
            #expect(!reply.contains("Strict-Transport-Security"))
            #expect(server.requests.allSatisfy { $0.field("Host") == "localhost:\(port)" })
        }
    }

    @Test func `a page of another web site gets no ticket`() async throws {
        let identity = try await realm.makeServerIdentity()
        try await ScriptedServer.run(
            { _ in
                .challenge
            },
            identities: [identity]
        ) { server in
            let reply = try await whileForwarding(to: "https://localhost:\(server.port)", trusting: identity.certificatePath) { proxy in
                try await curl(["-i", "-H", "Origin: https://evil.example", "\(proxy.url)/"])
            }
            #expect(reply.contains("Ksso-Proxy-Error: The request is from a page of another web site"), "\(reply)")
            #expect(server.requests.map { $0.field("Authorization") } == [nil])
            #expect(server.requests.map { $0.field("Origin") } == ["https://evil.example"])
        }
    }

    @Test(arguments: [
        ("cross-site", "no-cors", false), ("same-site", "cors", false), ("cross-site", "navigate", true), ("same-origin", "cors", true),
    ])
    func `an image or script of another web site gets no ticket, but a link does`(site: String, mode: String, isSignedIn: Bool) async throws
    {
        try await ScriptedServer.run({ request in
            request.field("Authorization") == nil ? .challenge : .response(200, [("WWW-Authenticate", "Negotiate ZmluYWw=")], body: "page")
        }) { server in
            // Without TLS, which the profile of the test permits.
            let page = try await whileForwarding(to: "http://localhost:\(server.port)", trusting: nil) { proxy in
                try await curl(["-H", "Sec-Fetch-Site: \(site)", "-H", "Sec-Fetch-Mode: \(mode)", "\(proxy.url)/a|b?c=100%"])
            }
            #expect(page == (isSignedIn ? "page" : "who are you?"))
            #expect(server.requests.allSatisfy { $0.target == "/a|b?c=100%" })
        }
    }

    @Test func `another name of this machine gets a page that says what to open`() async throws {
        let reply = try await whileForwarding(to: "https://localhost:1", trusting: nil) { proxy in
            try await curl(["-i", "http://localhost:\(proxy.port)/"])
        }
        #expect(reply.hasPrefix("HTTP/1.1 421 Misdirected Request"))
        #expect(reply.contains(" is not the address of this proxy. Open http://127.0.0.1:"), "\(reply)")
    }

    @Test func `a WebSocket is relayed in both directions after the ticket`() async throws {
        let identity = try await realm.makeServerIdentity()
        try await ScriptedServer.run(
            { request in
                switch request.method {
                // After the upgrade, these are messages of the other protocol.
                case "ASK": return .partial("answer to \(request.target)\r\n\r\n")
                default:
                    guard request.field("Authorization") != nil else { return .challenge }
                    let fields = "Connection: upgrade\r\nUpgrade: websocket\r\nWWW-Authenticate: Negotiate ZmluYWw=\r\n"
                    return .partial("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n")
                }
            },
            identities: [identity]
        ) { server in
            let port = server.port
            try await whileForwarding(to: "https://localhost:\(port)", trusting: identity.certificatePath) { proxy in
                try await withRawConnection(port: proxy.port) { connection in
                    let local = "127.0.0.1:\(proxy.port)"
                    try await connection.send(
                        "GET /socket HTTP/1.1\r\nHost: \(local)\r\nOrigin: http://\(local)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                    )
                    let head = try await connection.head()
                    #expect(head.hasPrefix("HTTP/1.1 101 "), "\(head)")
                    for question in ["one", "two"] {
                        try await connection.send("ASK \(question) now\r\n\r\n")
                        #expect(try await connection.head() == "answer to \(question)\r\n\r\n")
                    }
                    connection.finish()
                    #expect(try await connection.textToEnd() == "")
                }
            }
            #expect(server.requests.first?.field("Origin") == "https://localhost:\(port)")
        }
    }

    /// Apache sends no proof of its identity with 101, so that TLS alone authenticates it.
    @Test(.timeLimit(.minutes(5)), arguments: [(true, false), (false, false), (false, true)])
    func `a WebSocket of Apache is opened over TLS, or with an exception`(usesTLS: Bool, mayOmitProof: Bool) async throws {
        let sso = try await realm.signedInExtension(unproven: mayOmitProof ? ["localhost"] : [])
        try await QuestioningServer.run { socket in
            var options = ProtectedWebServerOptions(usesTLS: usesTLS)
            options.webSocketPort = socket.port
            try await withProtectedWebServer(realm: realm, options) { server in
                let trusted = usesTLS ? server.certificatePath : nil
                try await whileForwarding(to: server.url, trusting: trusted, credentials: sso) { proxy in
                    let outcome: String?
                    do {
                        outcome = try await AnsweringClient.run(port: proxy.port, path: "/socket", answer: { "I heard: \($0)" }) {
                            await socket.answers.first { _ in true }
                        }
                    } catch let refusal as Refusal {
                        outcome = "\(refusal.status)"
                    }
                    #expect(outcome == (usesTLS || mayOmitProof ? "I heard: \(QuestioningServer.question)" : "502"))
                }
            }
        }
    }

    /// Without the end of TLS, an attacker may have removed the rest of the body (RFC 9112 section 9.8).
    @Test(arguments: ["", "Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"])
    func `a body that ends without the end of TLS is incomplete for the client too`(framing: String) async throws {
        let identity = try await realm.makeServerIdentity()
        let body = framing.hasPrefix("T") ? "4\r\npart\r\n" : "part"
        let text = "HTTP/1.1 200 OK\r\n\(framing)\r\n\(body)"
        try await ScriptedServer.run({ $0.target == "/cut" ? .cut(text) : .raw(text) }, identities: [identity]) { server in
            let origin = "https://localhost:\(server.port)"
            try await whileForwarding(to: origin, trusting: identity.certificatePath) { proxy in
                for (path, isComplete) in [("cut", false), ("closed", framing.isEmpty)] {
                    let output = try await curl(["--write-out", " %{exitcode}", "\(proxy.url)/\(path)"])
                    // curl's status 18: the transfer is incomplete.
                    #expect(output.hasPrefix(isComplete ? "part 0" : "part 18"), "\(path): \(output)")
                }
            }
        }
    }

    @Test func `the server is reached in a tunnel through squid`() async throws {
        let sso = try await realm.signedInExtension(hosts: ["localhost"], proxies: ["localhost"])
        try await withSquidProxy(realm: realm) { squid in
            let routes = ScriptedRoutes(.upstream(ProxyServer(host: "localhost", port: squid.port)))
            try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(usesTLS: true)) { server in
                let output = try await whileForwarding(
                    to: server.url,
                    trusting: server.certificatePath,
                    credentials: sso,
                    routes: routes
                ) { proxy in
                    try await curl(["\(proxy.url)/hello", "\(proxy.url)/other"])
                }
                #expect(output == "Hello alice@EXAMPLE.TEST\nOther alice@EXAMPLE.TEST\n")
            }
            try await eventually { try squid.accessLog().contains("200 CONNECT localhost:") }
        }
    }

    @Test func `without a ticket the page says how to sign in`() async throws {
        let sso = try await realm.signedInExtension(hosts: ["localhost"], signsIn: false)
        try await withProtectedWebServer(realm: realm, ProtectedWebServerOptions(usesTLS: true)) { server in
            let reply = try await whileForwarding(to: server.url, trusting: server.certificatePath, credentials: sso) { proxy in
                try await curl(["-i", "\(proxy.url)/hello"])
            }
            #expect(reply.hasPrefix("HTTP/1.1 502"))
            #expect(reply.contains("ksso login"), "\(reply)")
        }
    }
}
