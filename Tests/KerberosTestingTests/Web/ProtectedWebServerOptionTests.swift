import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The options of the protected web server, seen by curl.
@Suite(.testRealm(users: ["alice": "secret", "al~ice/ad~~min": "secret", "bob": "secret"], services: ["HTTP/localhost"]))
struct ProtectedWebServerOptionTests {
    static let negotiate = ["--negotiate", "-u", ":"]

    let realm: TestRealm

    init() throws {
        realm = try #require(TestRealm.current)
    }

    @Test(arguments: [true, false])
    func `the client chooses between HTTP/1.1 and HTTP/2`(usesHTTP2: Bool) async throws {
        let cache = try await realm.signIn()
        try await withProtectedWebServer(realm: realm, .init(usesTLS: true, usesHTTP2: usesHTTP2)) { server in
            let trust = ["--cacert", server.certificatePath, "-w", "%{http_version}"]
            for (version, result) in [("--http2", usesHTTP2 ? "2" : "1.1"), ("--http1.1", "1.1")] {
                let reply = try await realm.curl(trust + [version] + Self.negotiate + ["\(server.url)/hello"], cache: cache)
                #expect(reply.output == "Hello alice@EXAMPLE.TEST\n\(result)")
            }
        }
    }

    /// The second request carries no token. Over HTTP/2 the server sends `Persistent-Auth: true` but rejects the second request.
    @Test(arguments: ["1.1", "2"], [true, false])
    func `a later request needs no token only on a bound HTTP/1.1 connection`(version: String, isBound: Bool) async throws {
        let cache = try await realm.signIn()
        let options = ProtectedWebServerOptions(connectionBound: isBound, usesTLS: true, usesHTTP2: true)
        try await withProtectedWebServer(realm: realm, options) { server in
            let common = ["-s", "--http\(version)", "--cacert", server.certificatePath, "-o", "/dev/null"]
            let first = common + ["-D", "-"] + Self.negotiate + ["\(server.url)/hello"]
            let second = ["--next"] + common + ["-D", "-", "-w", "%{http_code} %{num_connects}\n", "\(server.url)/hello"]
            let reply = try await realm.curl(first + second, cache: cache)
            let isVouchedFor = isBound && version == "1.1"
            #expect(reply.output.hasSuffix(isVouchedFor ? "200 0\n" : "401 0\n"), "\(reply.output)")
            let promises = reply.output.lowercased().matches(of: /persistent-auth: (true|false)/).map { String($0.1) }
            #expect(promises == (isVouchedFor ? ["true", "true"] : ["\(isBound)"]))
        }
    }

    @Test(.enabled(if: (try? ClockLibrary.path()) != nil, "libfaketime is neither installed nor unpacked"))
    func `a server with a wrong clock rejects tokens`() async throws {
        let cache = try await realm.signIn()
        try await withProtectedWebServer(realm: realm, .init(clockOffset: .seconds(-3600))) { server in
            let reply = try await realm.curl("\(server.url)/hello", cache: cache)
            #expect(reply.status == 401)
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            let date = try #require(reply["date"].first.flatMap(formatter.date(from:)))
            #expect(abs(date.timeIntervalSinceNow + 3600) < 60, "\(date)")
            #expect(try server.errorLog().contains("Ticket not yet valid"))
        }
    }

    @Test(arguments: ServerCertificate.all)
    func `the server certificate has the requested signature algorithm`(certificate: ServerCertificate) async throws {
        let names = [
            "ecdsaSHA256": "ecdsa-with-SHA256", "ecdsaSHA384": "ecdsa-with-SHA384", "rsaMD5": "md5WithRSAEncryption",
            "rsaSHA1": "sha1WithRSAEncryption", "rsaSHA256": "sha256WithRSAEncryption", "rsaSHA384": "sha384WithRSAEncryption",
            "rsaSHA512": "sha512WithRSAEncryption", "rsaPSSSHA256": "rsassaPss", "rsaPSSSHA384": "rsassaPss", "ed25519": "ED25519",
        ]
        try await withProtectedWebServer(realm: realm, .init(usesTLS: true, certificate: certificate)) { server in
            let reply = try await realm.curl(["--cacert", server.certificatePath, "\(server.url)/open"])
            #expect(reply.output == "open\n")
            let text = try await realm.run("openssl", ["x509", "-in", server.certificatePath, "-noout", "-text"]).output
            let name = try #require(names[certificate.description])
            #expect(text.contains("Signature Algorithm: \(name)"))
            if name == "rsassaPss" { #expect(text.contains("Hash Algorithm: sha\(certificate.description.suffix(3))")) }
        }
    }

    @Test(arguments: [true, false], ["QUJD", "YIIabc", "***"])
    func `an invalid token gets a new challenge unless the server negotiates once`(negotiatesOnce: Bool, token: String) async throws {
        try await withProtectedWebServer(realm: realm, .init(negotiatesOnce: negotiatesOnce)) { server in
            let page = "\(server.url)/hello"
            let refusal = try await realm.curl(["-i", "-H", "Authorization: Negotiate \(token)", page]).output
            #expect(refusal.hasPrefix("HTTP/1.1 401 "))
            #expect(refusal.contains("WWW-Authenticate") == !negotiatesOnce)
            let challenge = try await realm.curl(["-i", page]).output
            #expect(challenge.contains("WWW-Authenticate: Negotiate\r\n"))
        }
    }

    @Test func `delegated tickets are stored if requested`() async throws {
        let caches = ["alice": try await realm.signIn(options: ["-f"]), "bob": try await realm.signIn("bob")]
        let odd = try await realm.signIn("al~ice/ad~~min", options: ["-f"])
        try await withProtectedWebServer(realm: realm, .init(storesDelegatedTickets: true)) { server in
            func ask(_ cache: String?, delegation: String) async throws {
                let options = Self.negotiate + ["--delegation", delegation, "-o", "/dev/null", "-w", "%{http_code}"]
                #expect(try await realm.curl(options + ["\(server.url)/hello"], cache: cache).output == "200")
            }
            try await ask(caches["alice"], delegation: "none")
            try await ask(caches["alice"], delegation: "policy")  // the KDC does not trust this service for delegation
            try await ask(caches["bob"], delegation: "always")  // a ticket that cannot be forwarded
            #expect(try server.delegatedCaches() == [:])
            try await ask(caches["alice"], delegation: "always")
            try await ask(odd, delegation: "always")
            let stored = try server.delegatedCaches()
            #expect(Set(stored.keys) == ["alice@EXAMPLE.TEST", "al~ice/ad~~min@EXAMPLE.TEST"])
            for (principal, cache) in stored {
                let list = try await realm.run("klist", [cache])
                #expect(list.output.contains("Default principal: \(principal)\n"))
                #expect(list.output.contains("krbtgt/EXAMPLE.TEST@EXAMPLE.TEST"))
            }
        }
    }

    @Test func `a ticket is delegated by policy to a service that the KDC trusts`() async throws {
        _ = try await realm.kadmin(["add_principal", "-randkey", "+ok_as_delegate", "HTTP/trusted.example.test"])
        let cache = try await realm.signIn(options: ["-f"])
        let options = ProtectedWebServerOptions(principal: "HTTP/trusted.example.test", storesDelegatedTickets: true)
        try await withProtectedWebServer(realm: realm, options) { server in
            let resolve = ["--resolve", "trusted.example.test:\(server.port):127.0.0.1", "--delegation", "policy"]
            let page = "http://trusted.example.test:\(server.port)/hello"
            _ = try await realm.curl(Self.negotiate + resolve + [page], cache: cache)
            #expect(try Array(server.delegatedCaches().keys) == ["alice@EXAMPLE.TEST"])
        }
    }

    @Test func `delegated tickets are not stored by default`() async throws {
        let cache = try await realm.signIn(options: ["-f"])
        try await withProtectedWebServer(realm: realm) { server in
            let reply = try await realm.curl(Self.negotiate + ["--delegation", "always", "\(server.url)/hello"], cache: cache)
            #expect(reply.output == "Hello alice@EXAMPLE.TEST\n")
            #expect(try server.delegatedCaches() == [:])
            #expect(try FileManager.default.subpathsOfDirectory(atPath: server.directory).allSatisfy { !$0.contains("alice") })
        }
    }

    /// The size includes the name, the colon and the space; Apache accepts a byte or two more. The first limit is Apache's own default.
    @Test(arguments: [8_190, 131_072, 1_000_000])
    func `a header field over the size limit is rejected`(size: Int) async throws {
        try await withProtectedWebServer(realm: realm, .init(maximumFieldSize: size)) { server in
            for (count, status) in [(size, "200"), (size + 8, "400")] {
                let field = "X-Long: " + String(repeating: "x", count: count - "X-Long: ".count)
                let arguments = ["-H", "@-", "-o", "/dev/null", "-w", "%{http_code}", "\(server.url)/open"]
                let reply = try await realm.curl(arguments, input: field + "\n")
                #expect(reply.output == status, "\(count)")
            }
        }
    }

    @Test func `the size limit of header fields applies to HTTP/2 too`() async throws {
        let options = ProtectedWebServerOptions(usesTLS: true, usesHTTP2: true, maximumFieldSize: 20_000)
        try await withProtectedWebServer(realm: realm, options) { server in
            for (count, status) in [(19_000, "200"), (21_000, "431")] {
                let arguments = ["--cacert", server.certificatePath, "-H", "@-", "-o", "/dev/null", "-w", "%{http_code} %{http_version}"]
                let field = "X-Long: " + String(repeating: "x", count: count)
                let reply = try await realm.curl(arguments + ["\(server.url)/open"], input: field + "\n")
                #expect(reply.output == "\(status) 2")
            }
        }
    }

    /// Apache reads it to the end, and then finds that it is not a token.
    @Test func `Apache reads a token of 64 KiB by default`() async throws {
        try await withProtectedWebServer(realm: realm) { server in
            let token = Data(repeating: 0x41, count: 65_536).base64EncodedString()
            let arguments = ["-H", "@-", "-o", "/dev/null", "-w", "%{http_code}", "\(server.url)/hello"]
            let reply = try await realm.curl(arguments, input: "Authorization: Negotiate \(token)\n")
            #expect(reply.output == "401")
        }
    }

    @Test func `redirects have the configured status and target`() async throws {
        let targets = [
            "/moved": (301, "/hello"), "/found": (302, "https://example.test/a"), "/other-page": (303, "http://127.0.0.1:1/b?c=%20d"),
            "/temporary": (307, "http://example.test"), "/permanent": (308, "http://example.test:8080/e#f"),
        ]
        let options = ProtectedWebServerOptions(redirects: targets.mapValues { .init(status: $0.0, target: $0.1) })
        try await withProtectedWebServer(realm: realm, options) { server in
            for (path, (status, target)) in targets {
                let report = ["-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", "-X", "POST"]
                let reply = try await realm.curl(report + ["\(server.url)\(path)"])
                let url = target.hasPrefix("/") ? server.url + target : target
                #expect(reply.output == "\(status) \(url)" || reply.output == "\(status) \(url)/")
                let below = try await realm.curl(report + ["\(server.url)\(path)/below"])
                #expect(below.output == "404 ")
            }
        }
    }

    @Test(
        arguments: [
            .init(usesHTTP2: true), .init(maximumFieldSize: 0), .init(redirects: ["relative": .init(status: 301, target: "/")]),
            .init(redirects: ["/a": .init(status: 200, target: "/")]), .init(redirects: ["/a": .init(status: 301, target: "")]),
            .init(redirects: ["/a": .init(status: 301, target: "/b c")]), .init(redirects: ["/a": .init(status: 301, target: "/\n")]),
            .init(redirects: ["/a": .init(status: 301, target: "/\"")]), .init(redirects: ["/a": .init(status: 301, target: "/$1")]),
            .init(redirects: ["/a": .init(status: 301, target: "/\\")]), .init(redirects: ["/a'b": .init(status: 301, target: "/")]),
            .init(redirects: ["/a": .init(status: 301, target: "/%{HTTP_HOST}")]),
        ] as [ProtectedWebServerOptions]
    )
    func `impossible server options are rejected`(options: ProtectedWebServerOptions) async throws {
        let error = await #expect(throws: KerberosTestingError.self) { try await withProtectedWebServer(realm: realm, options) { _ in } }
        #expect(error?.code == .invalidArgument)
    }
}
