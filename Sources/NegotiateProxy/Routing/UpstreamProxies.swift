/// Upstream proxies in the order in which they are tried.
///
/// ```swift
/// let routes = UpstreamProxies([try ProxyServer("proxy-1.corp.example:3128"), try ProxyServer("proxy-2.corp.example:3128")])
/// ```
///
/// A server that cannot be reached is tried last for 30 seconds. If no server can be reached, a request fails: it is never sent
/// directly.
package struct UpstreamProxies: RouteSource {
    private let routes: [ProxyRoute]
    /// The servers that could not be reached.
    package let failures: UpstreamFailures

    /// Creates the list. Without a server, all requests are sent directly.
    package init(_ servers: [ProxyServer], failures: UpstreamFailures = UpstreamFailures()) {
        routes = servers.isEmpty ? [.direct] : servers.map { .upstream($0) }
        self.failures = failures
    }

    package func routes(to target: RouteTarget) -> [ProxyRoute] { failures.order(routes) }

    package func connectionEnded(to server: ProxyServer, isEstablished: Bool) {
        failures.record(server, isEstablished: isEstablished)
    }
}
