import TestSupport
import Testing

@testable import NegotiateProxy

/// The list of upstream proxies, with failover.
struct UpstreamProxiesTests {
    private static let names = ["a", "b", "c"]
    private let clock = ManualClock()
    private let target = RouteTarget(url: "http://www.example/", host: "www.example", port: 80)

    private func server(_ name: String) -> ProxyServer { ProxyServer(host: "\(name).example", port: 3128) }

    private func proxies() -> UpstreamProxies {
        UpstreamProxies(Self.names.map(server), failures: UpstreamFailures(retryInterval: .seconds(30)) { [clock] in clock.instant })
    }

    /// The first labels of the upstream proxies in the order in which they are tried.
    private func order(_ proxies: UpstreamProxies) -> String {
        proxies.routes(to: target).map { String("\($0)".dropFirst("PROXY ".count).prefix { $0 != "." }) }.joined()
    }

    @Test func `without a server every request is direct`() {
        #expect(UpstreamProxies([]).routes(to: target) == [.direct])
    }

    @Test func `the servers are tried in the configured order`() {
        #expect(order(proxies()) == "abc")
    }

    @Test func `a failed server is tried last until its retry time`() {
        let proxies = proxies()
        proxies.connectionEnded(to: server("a"), isEstablished: false)
        #expect(order(proxies) == "bca")
        clock.advance(by: 29)
        #expect(order(proxies) == "bca")
        #expect(proxies.failures.servers == [server("a")])
    }

    @Test func `after the retry time one request tries the server at its place`() {
        let proxies = proxies()
        proxies.connectionEnded(to: server("a"), isEstablished: false)
        clock.advance(by: 30)
        #expect(order(proxies) == "abc")
        #expect(order(proxies) == "bca")
        proxies.connectionEnded(to: server("a"), isEstablished: true)
        #expect(order(proxies) == "abc" && proxies.failures.servers.isEmpty)
    }

    @Test func `a server that fails again is tried last again`() {
        let proxies = proxies()
        proxies.connectionEnded(to: server("a"), isEstablished: false)
        clock.advance(by: 31)
        _ = order(proxies)
        proxies.connectionEnded(to: server("a"), isEstablished: false)
        clock.advance(by: 29)
        #expect(order(proxies) == "bca")
    }

    @Test func `if all servers have failed all are tried in the configured order`() {
        let proxies = proxies()
        for name in Self.names.reversed() { proxies.connectionEnded(to: server(name), isEstablished: false) }
        #expect(order(proxies) == "abc")
    }

    @Test func `the number of remembered failures is limited`() {
        let failures = UpstreamFailures()
        for number in 0..<1000 { failures.record(server("p\(number)"), isEstablished: false) }
        #expect(failures.servers.count == 256)
    }

    @Test(arguments: [
        ("proxy.example:3128", "proxy.example:3128"), ("PROXY.Example.:80", "proxy.example:80"),
        ("[2001:DB8::1]:8080", "[2001:db8::1]:8080"),
        ("192.0.2.1:1", "192.0.2.1:1"),
    ])
    func `a server is parsed`(text: String, server: String) throws {
        #expect(try ProxyServer(text).description == server)
    }

    @Test(arguments: [
        ("proxy.example", "has no port"), ("proxy.example:0", "is not a number from 1 to 65535"),
        ("proxy.example:65536", "is not a number"),
        ("proxy.example:", "is not a number"), ("proxy.example:+80", "is not a number"), ("http://proxy.example:80", "is not a number"),
        ("pro xy:80", "which is not allowed in a host name"), ("[::1:80", "has no closing bracket"), ("[::1]80", "after the bracket"),
        ("[a]:80", "has no IPv6 address"), ("", "is empty"), ("user@proxy.example:80", "which is not allowed in a host name"),
        ("proxy.example:3128\u{1B}[2J", "\\u{1b}[2J"),
    ])
    func `a server that cannot be parsed is an error with the correction`(text: String, problem: String) {
        let error = #expect(throws: RoutingError.self) { try ProxyServer(text) }
        #expect(error?.message.contains(problem) == true && error?.message.hasSuffix(".") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("\u{1B}") == false)
    }
}
