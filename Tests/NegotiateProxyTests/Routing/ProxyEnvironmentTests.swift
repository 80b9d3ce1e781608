import Testing

@testable import NegotiateProxy

/// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`.
struct ProxyEnvironmentTests {
    private func route(_ url: String, _ variables: [String: String], ownPorts: Set<Int> = []) throws -> String {
        let host = url.split(separator: "/")[1].split(separator: ":")[0]
        let target = RouteTarget(url: url, host: String(host), port: url.hasPrefix("https") ? 443 : 80)
        let routes = try ProxyEnvironment(variables, ownPorts: ownPorts).routes(to: target)
        return routes.map(\.description).joined(separator: "; ")
    }

    static let readings: [([String: String], String, String)] = [
        (["http_proxy": "http://p.example:3128"], "PROXY p.example:3128", "DIRECT"),
        (["http_proxy": "p.example:3128"], "PROXY p.example:3128", "DIRECT"),
        (["http_proxy": "HTTP://p.example:3128/path"], "PROXY p.example:3128", "DIRECT"),
        (["http_proxy": "http://[2001:db8::1]:8080/"], "PROXY [2001:db8::1]:8080", "DIRECT"),
        (["http_proxy": "p.example"], "PROXY p.example:1080", "DIRECT"),
        (["HTTP_PROXY": "p.example:1"], "DIRECT", "DIRECT"),
        (["https_proxy": "p.example:1", "HTTPS_PROXY": "q.example:1"], "DIRECT", "PROXY p.example:1"),
        (["HTTPS_PROXY": "q.example:1"], "DIRECT", "PROXY q.example:1"),
        (["https_proxy": "", "HTTPS_PROXY": "q.example:1"], "DIRECT", "PROXY q.example:1"),
        (["all_proxy": "p.example:1", "ALL_PROXY": "q.example:1"], "PROXY p.example:1", "PROXY p.example:1"),
        (["ALL_PROXY": "q.example:1"], "PROXY q.example:1", "PROXY q.example:1"),
        (["http_proxy": "p.example:1", "ALL_PROXY": "q.example:1"], "PROXY p.example:1", "PROXY q.example:1"),
        (["ALL_PROXY": "p.example:1", "no_proxy": "www.example"], "DIRECT", "DIRECT"),
        (["ALL_PROXY": "p.example:1", "NO_PROXY": ".example"], "DIRECT", "DIRECT"),
        (["ALL_PROXY": "p.example:1", "NO_PROXY": "*", "no_proxy": "other.test"], "PROXY p.example:1", "PROXY p.example:1"),
        ([:], "DIRECT", "DIRECT"),
    ]

    @Test(arguments: readings)
    func `the variables are read as by curl`(variables: [String: String], http: String, https: String) throws {
        #expect(try route("http://www.example/", variables) == http)
        #expect(try route("https://www.example/", variables) == https)
    }

    @Test(arguments: ["http://localhost:3128", "127.0.0.1:3128", "[::1]:3128", "127.1:3128"])
    func `a variable that names this proxy is ignored`(value: String) throws {
        #expect(try route("http://www.example/", ["http_proxy": value], ownPorts: [3128]) == "DIRECT")
        #expect(try route("http://www.example/", ["http_proxy": value], ownPorts: [8080]) != "DIRECT")
        #expect(try route("http://www.example/", ["http_proxy": "p.example:3128"], ownPorts: [3128]) != "DIRECT")
    }

    @Test(arguments: [
        ("http://user:secret@p.example:3128", "has a user name or a password"), ("user@p.example", "has a user name or a password"),
        ("https://p.example:3128", "over TLS"), ("socks5h://p.example", "a SOCKS proxy"), ("SOCKS4://p.example", "a SOCKS proxy"),
        ("ftp://p.example", "the scheme “ftp”"), ("http://:3128", "is empty"), ("p.example:x", "is not a number"),
    ])
    func `a proxy that cannot be used is an error that names the variable`(value: String, problem: String) {
        let error = #expect(throws: RoutingError.self) { try ProxyEnvironment(["HTTPS_PROXY": value]) }
        let message = error?.message ?? ""
        #expect(message.contains("HTTPS_PROXY") && message.contains(problem) && !message.contains("secret"), "\(message)")
    }
}
