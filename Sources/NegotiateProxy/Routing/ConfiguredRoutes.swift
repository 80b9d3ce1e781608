package import SignOnPolicy

/// The routes of a configuration: direct for the hosts of `no_proxy`, then as the PAC file or the list of upstream proxies says, else
/// direct.
///
/// ```swift
/// let routes = ConfiguredRoutes(noProxy: NoProxy(entries: profile.noProxy), otherwise: UpstreamProxies(servers))
/// ```
package struct ConfiguredRoutes: RouteSource {
    private let noProxy: NoProxy
    private let source: any RouteSource

    /// Creates the routes from their parts.
    ///
    /// - Parameter source: The routes to the hosts that `no_proxy` does not cover.
    package init(noProxy: NoProxy, otherwise source: any RouteSource) {
        (self.noProxy, self.source) = (noProxy, source)
    }

    /// Creates the routes from a profile's values. A PAC file precedes the list, which is then not used.
    ///
    /// - Parameters:
    ///   - noProxy: The entries as in `no_proxy`.
    ///   - servers: The upstream proxies, each as `host:port`.
    ///   - autoConfiguration: The path or URL of a PAC file.
    ///   - worker: The program that evaluates the PAC file.
    /// - Throws: A `RoutingError` that names the first value that is not valid.
    package init(
        noProxy: [String],
        servers: [String],
        autoConfiguration: String?,
        worker: PACWorkerProgram
    ) throws(RoutingError) {
        self.noProxy = NoProxy(entries: noProxy)
        if let autoConfiguration {
            source = PACRoutes(PACSource(try PACLocation(autoConfiguration)), PACEvaluator(worker))
        } else {
            var parsed: [ProxyServer] = []
            for server in servers { parsed.append(try ProxyServer(server)) }
            source = UpstreamProxies(parsed)
        }
    }

    package func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute] {
        guard noProxy.entry(covering: target.host, port: target.port) == nil else { return [.direct] }
        return try await source.routes(to: target)
    }

    package func connectionEnded(to server: ProxyServer, isEstablished: Bool) async {
        await source.connectionEnded(to: server, isEstablished: isEstablished)
    }
}
