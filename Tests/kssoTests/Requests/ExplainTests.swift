import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `ksso explain`: which URLs are answered, and the reasons that it prints.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/example.com"]))
struct ExplainTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
    }

    struct Document: Decodable {
        struct Reason: Decodable, Equatable {
            let rule: String
            let verdict: String
            let detail: String
        }

        let url: String
        let outcome: String
        let realm: String?
        let principal: String?
        let servicePrincipal: String?
        let hostRule: String?
        let profile: String?
        let reasons: [Reason]
    }

    /// The URL as ksso prints it: without the user name and password before the `@` of the authority.
    private func shown(_ url: String) -> String {
        url.replacing(/^(https?:\/\/)[^\/?#@]*@/) { $0.1 }
    }

    private static let rules = profile(hosts: ["example.com", ".corp.example.com"])

    @Test(arguments: [
        "https://example.com/", "http://example.com/", "https://example.com", "HTTPS://EXAMPLE.COM/page?q#f", "https://example.com./",
        "https://example.com:8443/", "https://user:word@example.com/", "https://www.corp.example.com/", "https://a.b.corp.example.com/",
    ])
    func `a URL whose host a rule covers is answered`(url: String) async throws {
        try station.install(Self.rules)
        let result = try await station.ksso("explain", url)
        #expect(result.exitStatus == 0, "\(result)")
        #expect(result.errors == "")
        #expect(result.output.hasPrefix("\(shown(url)) is answered once a principal of EXAMPLE.TEST is signed in, with a ticket for HTTP/"))
    }

    @Test(arguments: ["example.com", "EXAMPLE.com:8443/page?a=b#c", "www.corp.example.com/", "example.com?q"])
    func `a URL without a scheme is one of https`(url: String) async throws {
        try station.install(Self.rules)
        let result = try await station.ksso("explain", url)
        #expect(result.exitStatus == 0 && result.output.hasPrefix("https://\(url) is answered "), "\(result)")
        #expect(try await station.ksso("header", url) == .failure(5, "not signed in to EXAMPLE.TEST. Sign in with: ksso login"))
    }

    @Test func `an IPv6 address without a scheme is one of https`() async throws {
        let result = try await station.ksso("explain", "[::1]:8443/page")
        #expect(result.exitStatus == 3 && result.output.hasPrefix("https://[::1]:8443/page is not answered."), "\(result)")
    }

    @Test(arguments: [
        ("proxy.corp.test:3128", 0), ("http://PROXY.corp.test:3128/", 0), ("example.com:3128", 3), ("https://example.com/", 3),
        ("10.0.0.1:3128", 3), ("pro xy:3128", 64),
    ])
    func `only a proxy in ProxyHosts is answered as a proxy`(address: String, status: Int) async throws {
        try station.install("ProxyHosts: [proxy.corp.test]\n" + Self.rules)
        let result = try await station.ksso("explain", "--proxy", address)
        #expect(result.exitStatus == status, "\(result)")
        switch status {
        case 0:
            #expect(result.output.contains("with a ticket for HTTP/proxy.corp.test"), "\(result)")
            #expect(result.output.contains("  + proxyHost: proxy.corp.test in ProxyHosts of realm EXAMPLE.TEST"), "\(result)")
            #expect(try await station.ksso("explain", "http://proxy.corp.test:3128").exitStatus == 3)
        case 3: #expect(result.output.contains(" is not answered.\n"), "\(result)")
        default: #expect(result.output.isEmpty)
        }
    }

    /// The exit status is 3 for the URL of another host and 64 for an invalid URL. `header` and `fetch` decide the same.
    @Test(arguments: [
        ("https://evilexample.com/", 3), ("https://example.com.evil.test/", 3), ("https://example.com@evil.test/", 3),
        ("https://example.com:443@evil.test/", 3), ("https://corp.example.com/", 3), ("https://evilcorp.example.com/", 3),
        ("https://www.example.com/", 3), ("https://xn--exmple-cua.com/", 3), ("https://evil.test/https://example.com/", 3),
        ("https://evil.test/#@example.com/", 3), ("https://evil.test?@example.com/", 3),
        ("https://127.0.0.1/", 3), ("https://2130706433/", 3), ("https://0x7f.1/", 3), ("https://[::1]/", 3),
        ("https://[::ffff:127.0.0.1]/", 3),
        ("https://example.com../", 64), ("https://.example.com/", 64), ("https://example%2ecom/", 64), ("https://example.com%00/", 64),
        ("https://example.com%2f@evil.test%2f/", 64), ("https://example.com\\@evil.test/", 64), ("https://evil.test\\.example.com/", 64),
        ("https://evil.test@example.com@evil.test/", 64), ("https://ex\u{E4}mple.com/", 64), ("https://\u{435}xample.com/", 64),
        ("https://example\u{3002}com/", 64), ("https://example.com\u{200B}/", 64), ("https://example.com /", 64),
        ("https://example.com\t/", 64), ("https:///example.com/", 64), ("https:example.com/", 64), ("https://example.com:99999/", 64),
        ("https://example.com:0/", 64), ("https://example.com:x/", 64), ("https://1.2.3.example.com.256/", 64), ("https://[::1", 64),
        ("ftp://example.com/", 64), ("", 64), ("https://", 64), ("user@example.com", 64), ("mailto:a", 64), (".example.com", 64),
        ("example.com@evil.test/", 64), ("example.com.evil.test", 3),
    ])
    func `a URL that only resembles a covered one is not answered`(url: String, status: Int) async throws {
        try station.install(Self.rules)
        let result = try await station.ksso("explain", url)
        #expect(result.exitStatus == status, "\(result)")
        let page = url.contains("://") ? shown(url) : "https://\(url)"
        #expect(status == 64 ? result.output == "" : result.output.hasPrefix("\(page) is not answered.\n"), "\(result)")
        #expect(status == 3 ? result.errors == "" : result.errors.hasPrefix("ksso: "), "\(result)")
        let header = try await station.ksso("header", url)
        #expect(header.exitStatus == status, "\(header)")
        #expect(header.output == "")
        if status == 64 { #expect(try await station.ksso("fetch", url).exitStatus == 64) }
    }

    @Test func `a plain http URL is answered only for hosts in PlainHTTPHosts`() async throws {
        try station.install(Self.rules.replacing(/PlainHTTPHosts.*\n/, with: ""))
        #expect(try await station.ksso("explain", "https://example.com/").exitStatus == 0)
        let result = try await station.ksso("explain", "http://example.com/")
        #expect(result.exitStatus == 3)
        #expect(result.output.contains("  - scheme: Plain http is answered only for hosts in PlainHTTPHosts"))
    }

    @Test func `ksso explain prints one line for each reason`() async throws {
        let path = try station.install(Self.rules)
        try await station.signIn()
        #expect(try await station.run(["kvno", "HTTP/example.com"]).exitStatus == 0)
        let result = try await station.ksso("explain", "https://example.com/")
        let text = """
            https://example.com/ is answered as alice@EXAMPLE.TEST, with a ticket for HTTP/example.com@EXAMPLE.TEST.
              + scheme: The scheme is https.
              + address: example.com is a name.
              + hostRule: example.com of realm EXAMPLE.TEST (\(path)) covers example.com.
                serviceRealm: domainRealmMapping has no entry for the host: the request goes to the KDC of EXAMPLE.TEST, and its \
            referrals are followed.
                servicePrincipal: The service principal comes from the URL's host: ServicePrincipals has no entry for https://example.com.
              + channelBinding: The ticket is bound to the server's certificate.
              + mutualAuthentication: The server is verified (mutual authentication).
                delegation: The user's own ticket is not forwarded: DelegationHosts does not cover example.com.
                preemptive: The first request carries no ticket: PreemptiveHosts does not cover example.com.
              + session: alice@EXAMPLE.TEST is signed in, in \(station.cache), until TIME LEFT.
              + ticket: A ticket for HTTP/example.com@EXAMPLE.TEST of SIZE bytes is in \(station.cache).
              + credentialUseMode: always: the extension's credential is used for every principal a program names.
              + channelBinding: client_aware_channel_bindings is on: a server that checks channel bindings rejects this user's tokens \
            without them.

            """
        #expect(result.output.withoutTimes.replacing(/of \d+ bytes/, with: "of SIZE bytes") == text)
        #expect(result.exitStatus == 0)
    }

    @Test func `ksso explain --json prints the principal, rule and reasons of an answered URL`() async throws {
        let path = try station.install(Self.rules)
        try await station.signIn()
        let result = try await station.ksso("explain", "--json", "https://www.corp.example.com/")
        #expect(result.exitStatus == 0)
        #expect(result.errors == "")
        let document = try JSONDecoder().decode(Document.self, from: Data(result.output.utf8))
        #expect(document.url == "https://www.corp.example.com/")
        #expect(document.outcome == "handled")
        #expect(document.realm == "EXAMPLE.TEST")
        #expect(document.principal == "alice@EXAMPLE.TEST")
        #expect(document.servicePrincipal == "HTTP/www.corp.example.com")
        #expect(document.hostRule == ".corp.example.com")
        #expect(document.profile == path)
        let verdicts = [
            ("scheme", "passed"), ("address", "passed"), ("hostRule", "passed"), ("serviceRealm", "notApplicable"),
            ("servicePrincipal", "notApplicable"), ("channelBinding", "passed"), ("mutualAuthentication", "passed"),
            ("delegation", "notApplicable"), ("preemptive", "notApplicable"), ("session", "passed"), ("ticket", "notApplicable"),
            ("credentialUseMode", "passed"), ("channelBinding", "passed"),
        ]
        #expect(document.reasons.map(\.rule) == verdicts.map(\.0))
        #expect(document.reasons.map(\.verdict) == verdicts.map(\.1))
    }

    /// The JSON document has no keys of its own for these settings.
    @Test func `ksso explain prints the settings of a host as reasons`() async throws {
        let settings = """
            PreemptiveHosts: [.corp.example.com]
            UnconditionalDelegationHosts: [www.corp.example.com]
            NoMutualAuthenticationHosts: [.corp.example.com]
            NoChannelBindingHosts: [www.corp.example.com]
            ServicePrincipals: { "https://www.corp.example.com": HTTP/real.example.com }

            """
        try station.install(settings + Self.rules)
        let url = "https://www.corp.example.com/"
        let result = try await station.ksso("explain", url)
        #expect(result.exitStatus == 0)
        #expect(
            result.output.hasPrefix(
                "\(url) is answered once a principal of EXAMPLE.TEST is signed in, with a ticket for HTTP/real.example.com."
            )
        )
        let lines = """
              + servicePrincipal: ServicePrincipals maps https://www.corp.example.com to HTTP/real.example.com.
                channelBinding: NoChannelBindingHosts has www.corp.example.com: the ticket is not bound to the server's certificate.
                mutualAuthentication: NoMutualAuthenticationHosts has .corp.example.com: mutual authentication is not requested.
              + delegation: UnconditionalDelegationHosts has www.corp.example.com: the server gets the user's own ticket.
              + preemptive: PreemptiveHosts has .corp.example.com: once the server has asked for a ticket, later requests carry one immediately.

            """
        #expect(result.output.contains(lines), "\(result.output)")
        let json = try await station.ksso("explain", "--json", url)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        let keys: Set = ["url", "outcome", "realm", "principal", "servicePrincipal", "hostRule", "profile", "reasons"]
        #expect(Set(object.keys) == keys)
        #expect(object["servicePrincipal"] as? String == "HTTP/real.example.com")
    }

    @Test func `ksso explain --json prints null for the realm and rule of a URL that is not answered`() async throws {
        try station.install(Self.rules)
        let result = try await station.ksso("explain", "--json", "https://evilexample.com/")
        #expect(result.exitStatus == 3)
        #expect(result.errors == "")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let keys: Set = ["url", "outcome", "realm", "principal", "servicePrincipal", "hostRule", "profile", "reasons"]
        #expect(Set(object.keys) == keys)
        for key in ["realm", "principal", "servicePrincipal", "hostRule", "profile"] { #expect(object[key] is NSNull, "\(key)") }
        #expect(object["outcome"] as? String == "notHandled")
        let document = try JSONDecoder().decode(Document.self, from: Data(result.output.utf8))
        #expect(document.reasons.contains { $0.rule == "hostRule" && $0.verdict == "failed" })
    }

    @Test func `without a profile no host is answered`() async throws {
        let result = try await station.ksso("explain", "https://example.com/")
        #expect(result.exitStatus == 3)
        #expect(
            result.output.hasSuffix(
                "  - hostRule: No profile is active. Install one with: ksso setup FILE. If one is installed, run: ksso doctor\n"
            ),
            "\(result)"
        )
        #expect(!result.output.contains("scheme: "), "\(result)")
    }
}
