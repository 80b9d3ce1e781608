import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso fetch` against servers that fail or misbehave, and the requests that it sends to them.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct FetchFaultTests {
    let station: Workstation

    init() async throws {
        station = try Workstation()
        try station.install(profile())
        try await station.signIn()
    }

    private static let challenge = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", "Negotiate")], body: "no\n")

    /// Runs `ksso fetch`, and expects that the session stays valid whatever the server does.
    private func fetch(_ arguments: String..., input: String? = nil) async throws -> CommandResult {
        let result = try await station.run(["ksso", "fetch"] + arguments, input: input)
        #expect(try await station.ksso("status", "-q").exitStatus == 0)
        return result
    }

    @Test func `ksso fetch sends the method, fields and body of its arguments`() async throws {
        let body = try station.write("from=file", to: "body")
        try await ScriptedServer.run({ _ in .closing(200, body: "done\n") }) { server in
            let url = "http://localhost:\(server.port)/page?q=1"
            let plain = try await fetch(url, "-H", "X-One: 1", "-H", "user-agent: mine")
            #expect(plain == .done("done\n"))
            #expect(try await fetch(url, "-X", "PUT", "-d", "a=b", "-H", "Content-Type: text/plain") == .done("done\n"))
            #expect(try await fetch(url, "-d", "@\(body)") == .done("done\n"))
            #expect(try await fetch(url, "-d", "@-", input: "piped") == .done("done\n"))
            #expect(try await fetch(url, "-X", "DELETE") == .done("done\n"))
            let heads = server.heads
            #expect(heads.count == 5)
            #expect(heads[0].hasPrefix("GET /page?q=1 HTTP/1.1\r\n"))
            #expect(heads[0].contains("\r\nX-One: 1\r\n"))
            #expect(heads[0].contains("\r\nuser-agent: mine\r\n"))
            #expect(!heads[0].contains("User-Agent"))
            #expect(heads[1].hasPrefix("PUT /page?q=1 HTTP/1.1\r\n"))
            #expect(heads[1].contains("\r\nContent-Type: text/plain\r\n"))
            #expect(heads[2].hasPrefix("POST "))
            #expect(heads[2].lowercased().contains("\r\ncontent-length: 9\r\n"))
            #expect(heads[2].contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n"))
            #expect(heads[3].lowercased().contains("\r\ncontent-length: 5\r\n"))
            #expect(heads[4].hasPrefix("DELETE "))
            #expect(!heads.contains { $0.contains("Authorization") })
        }
    }

    @Test func `after two refused tickets ksso fetch prints the page and the reason`() async throws {
        try await ScriptedServer.run({ _ in Self.challenge }) { server in
            let url = "http://localhost:\(server.port)/"
            let result = try await fetch(url)
            #expect(result.output == "no\n")
            #expect(result.errors.hasPrefix("ksso: \(url): the server refused the ticket: "), "\(result.errors)")
            #expect(result.exitStatus == 0)
            // The last request carries a new ticket, in case the server's key is newer than the first ticket.
            #expect(server.requests.count == 3)
            #expect(!server.heads[0].contains("Authorization"))
            #expect(server.heads[1].contains("\r\nAuthorization: Negotiate YII"))
            #expect(server.heads[2].contains("\r\nAuthorization: Negotiate YII"))
            #expect(try await fetch("--fail", url).exitStatus == 22)
            #expect(server.requests.count == 6)
        }
    }

    @Test func `a server that offers only NTLM gets no token`() async throws {
        try await ScriptedServer.run({ _ in .closing(401, [("WWW-Authenticate", "NTLM")], body: "no\n") }) { server in
            let result = try await fetch("http://localhost:\(server.port)/")
            #expect(result.output == "no\n")
            #expect(result.exitStatus == 0)
            let line =
                "ksso: http://localhost:\(server.port)/: the server requires a sign-in, "
                + "but does not offer Negotiate: it offers NTLM.\n"
            #expect(result.errors == line)
            #expect(server.requests.count == 1)
            #expect(!server.heads[0].contains("Authorization"))
            // A long page would otherwise hide the reason.
            let both = try await station.run(["sh", "-c", "ksso fetch http://localhost:\(server.port)/ 2>&1"])
            #expect(both.output == "\(line)no\n")
        }
    }

    @Test(arguments: ["Negotiate fish", "negotiate aGVsbG8="])
    func `a first challenge that cannot be answered is reported, and its page is printed`(challenge: String) async throws {
        let answer = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", challenge)], body: "sign in\n")
        try await ScriptedServer.run({ _ in answer }) { server in
            let url = "http://localhost:\(server.port)/"
            let result = try await fetch(url)
            #expect(result.output == "sign in\n")
            #expect(result.exitStatus == 0)
            #expect(result.errors.hasPrefix("ksso: \(url): The server's Negotiate challenge cannot be answered: "), "\(result.errors)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a 401 for the user's own Authorization field is printed without advice`() async throws {
        try await ScriptedServer.run({ _ in Self.challenge }) { server in
            let result = try await fetch("http://localhost:\(server.port)/", "-H", "authorization: Bearer mine")
            #expect(result == .done("no\n"))
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a page that ends before its Content-Length is an error`() async throws {
        let half = ScriptedServer.Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        try await ScriptedServer.run({ _ in half }) { server in
            let result = try await fetch("http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1)
            #expect(result.errors.contains("closed before the page was complete"), "\(result.errors)")
        }
    }

    @Test func `ksso fetch refuses a server whose certificate is not trusted`() async throws {
        try await withProtectedWebServer(realm: station.realm, .init(usesTLS: true)) { web in
            let result = try await fetch("\(web.url)/hello")
            let line =
                "the TLS connection with \(web.url) failed: its certificate is not trusted, or not currently valid. "
                + "Check its certificate and the trusted authorities. To trust another authority, use: --cacert FILE"
            #expect(result == .failure(1, line))
        }
    }

    /// The page alone might not show that the redirect was not followed.
    @Test(.enabled(if: OwnAuthorities.arePossible, "this machine allows no mount namespaces"))
    func `a redirect from https to http is reported and not followed`() async throws {
        let options = ProtectedWebServerOptions(usesTLS: true, redirects: ["/away": .init(status: 302, target: "http://localhost/hello")])
        try await withProtectedWebServer(realm: station.realm, options) { web in
            let command = OwnAuthorities.command(trusting: web.certificatePath, ["ksso", "fetch", "--location", "\(web.url)/away"])
            let result = try await station.run(command)
            #expect(result.exitStatus == 0)
            #expect(result.errors == "ksso: \(web.url)/away: the redirect to http://localhost/hello is not followed.\n")
        }
    }

    /// After a refusal in another scheme ksso tries one new ticket, after an invalid Negotiate token none.
    @Test(arguments: [("NTLM TlRMTVNTUAACAAAA", 3), ("Negotiate TlRMTVNTUAACAAAA", 2)])
    func `a server that switches to NTLM gets no NTLM token`(challenge: String, requests: Int) async throws {
        let refusal = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", challenge)], body: "no\n")
        try await ScriptedServer.run({ $0.connection == 1 ? Self.challenge : refusal }) { server in
            let result = try await fetch("--fail", "http://localhost:\(server.port)/")
            #expect([1, 22].contains(result.exitStatus), "\(result)")
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("ksso: "), "\(result.errors)")
            #expect(server.requests.count == requests)
            #expect(!server.heads.contains { $0.contains("TlRMTVNTUAAB") || $0.contains("TlRMTVNTUAAD") })
        }
    }

    /// The server responds with 200 and no final token, or an invalid one.
    @Test(arguments: ["Negotiate", "Negotiate YII=", "Negotiate !!!", "Negotiate oYGpMIGm"])
    func `ksso fetch prints no page if the server's mutual authentication fails`(answer: String) async throws {
        let page = ScriptedServer.Reply.closing(200, [("WWW-Authenticate", answer)], body: "trust me\n")
        try await ScriptedServer.run({ $0.connection == 1 ? Self.challenge : page }) { server in
            let result = try await fetch("http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1, "\(result)")
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("ksso: "), "\(result.errors)")
        }
    }

    @Test func `a connection that closes during the Negotiate exchange is reported`() async throws {
        try await ScriptedServer.run({ $0.connection == 1 ? Self.challenge : .drop }) { server in
            let origin = "http://localhost:\(server.port)"
            let result = try await fetch("\(origin)/")
            let line = "\(origin) closed the connection before its response was complete. Try again, or check the server's log."
            #expect(result == .failure(1, line))
        }
    }

    @Test func `a connection that closes without a response is reported`() async throws {
        try await ScriptedServer.run({ _ in .drop }) { server in
            let result = try await fetch("http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1)
            #expect(result.errors.contains("closed the connection before its response was complete"), "\(result.errors)")
        }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\u{0}\u{1}\u{2}\u{3}\n\n\n", "HTTP/1.1 200 OK\r\nbroken header\r\n\r\n",
    ])
    func `a response that is not HTTP is reported in one line`(answer: String) async throws {
        try await ScriptedServer.run({ _ in .raw(answer) }) { server in
            let result = try await fetch("http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1, "\(result)")
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("ksso: http://localhost:\(server.port) "), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1)
        }
    }

    @Test(arguments: ["Negotiate not base64", "Negotiate \u{1}", "Negotiate, Negotiate", ",,,", "Basic realm=\"x"])
    func `a malformed challenge is reported after at most three requests`(challenge: String) async throws {
        let refusal = ScriptedServer.Reply.closing(401, [("WWW-Authenticate", challenge)], body: "no\n")
        try await ScriptedServer.run({ _ in refusal }) { server in
            let result = try await fetch("--fail", "http://localhost:\(server.port)/")
            #expect([1, 22].contains(result.exitStatus), "\(result)")
            #expect(result.errors.hasPrefix("ksso: "), "\(result.errors)")
            #expect(server.requests.count <= 3)
        }
    }

    @Test func `a refused connection is reported with its port`() async throws {
        let port = try ClosedPort()
        let result = try await fetch("http://localhost:\(port.number)/")
        let line = "localhost refuses connections on port \(port.number). Check that the server runs and that the port is right."
        #expect(result == .failure(1, line))
        withExtendedLifetime(port) {}
    }

    @Test func `a host name without an address is reported`() async throws {
        let result = try await fetch("http://absent.invalid/")
        let line = "no address was found for absent.invalid. Check the host's name, and whether the network or the VPN is connected."
        #expect(result == .failure(1, line))
    }

    @Test func `an https URL of a server without TLS is reported in one line`() async throws {
        try await ScriptedServer.run({ _ in .closing(200) }) { server in
            let result = try await fetch("https://localhost:\(server.port)/")
            #expect(result.exitStatus == 1, "\(result)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        }
    }

    @Test func `a redirect to a host that no rule covers gets no token`() async throws {
        try await ScriptedServer.run({ _ in Self.challenge }) { other in
            let target = "http://127.0.0.1:\(other.port)/there"
            let redirect = ScriptedServer.Reply.closing(302, [("Location", target)], body: "moved\n")
            try await ScriptedServer.run({ _ in redirect }) { server in
                let url = "http://localhost:\(server.port)/"
                #expect(try await fetch(url) == .done("moved\n"))
                #expect(other.requests.isEmpty)

                let result = try await fetch("--location", url)
                #expect(result.exitStatus == 3)
                #expect(result.output == "no\n")
                #expect(result.errors.hasPrefix("ksso: \(target) is not answered: "), "\(result.errors)")
                #expect(other.requests.count == 1)
                #expect(!other.heads.contains { $0.contains("Authorization") })
            }
        }
    }

    @Test func `a redirect from an uncovered host to a covered one is answered there`() async throws {
        try await withProtectedWebServer(realm: station.realm) { web in
            let target = "http://localhost:\(web.port)/hello"
            let redirect = ScriptedServer.Reply.closing(307, [("Location", target)])
            try await ScriptedServer.run({ _ in redirect }) { server in
                let result = try await fetch("--location", "http://127.0.0.1:\(server.port)/")
                #expect(result == .done("Hello alice@EXAMPLE.TEST\n"))
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test func `a redirect carries the caller's fields, but no cookie, to another origin`() async throws {
        try await ScriptedServer.run({ _ in Self.challenge }) { other in
            let redirect = ScriptedServer.Reply.closing(307, [("Location", "http://localhost:\(other.port)/there")])
            try await ScriptedServer.run({ _ in redirect }) { server in
                let url = "http://127.0.0.1:\(server.port)/"
                let result = try await fetch("--location", url, "-H", "Cookie: a=b", "-H", "X-Own: 1")
                #expect(result.output == "no\n")
                #expect(server.requests.count == 1)
                #expect(server.heads.allSatisfy { $0.contains("\r\nCookie: a=b\r\n") && $0.contains("\r\nX-Own: 1\r\n") })
                // The requests with a ticket carry none either.
                #expect(other.heads.count { $0.contains("\r\nAuthorization: Negotiate ") } == 2)
                #expect(other.heads.allSatisfy { $0.contains("\r\nX-Own: 1\r\n") && !$0.lowercased().contains("\r\ncookie:") })
            }
        }
    }

    @Test(arguments: ["http://local%68ost/", "javascript:alert(1)", "http://localhost\\@evil.test/", "//[::1"])
    func `a redirect to an invalid URL is not followed`(location: String) async throws {
        try await ScriptedServer.run({ _ in .closing(302, [("Location", location)]) }) { server in
            let result = try await fetch("--location", "http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1, "\(result)")
            #expect(result.errors.contains("redirects to "), "\(result.errors)")
            #expect(server.requests.count == 1)
        }
    }

    @Test func `a redirect loop ends after 10 redirects`() async throws {
        try await ScriptedServer.run({ _ in .closing(302, [("Location", "/")]) }) { server in
            let result = try await fetch("--location", "http://localhost:\(server.port)/")
            #expect(result.exitStatus == 1)
            #expect(result.errors.contains("redirects again after 10 redirects"), "\(result.errors)")
            #expect(server.requests.count == 11)
        }
    }
}
