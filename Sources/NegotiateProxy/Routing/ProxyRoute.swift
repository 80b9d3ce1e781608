/// One way to send a request on.
package enum ProxyRoute: Sendable, Hashable, CustomStringConvertible {
    /// To the origin itself.
    case direct
    /// Through an upstream proxy.
    case upstream(ProxyServer)

    /// `DIRECT`, or the server as in a PAC file's answer.
    package var description: String {
        switch self {
        case .direct: "DIRECT"
        case .upstream(let server): "PROXY \(server)"
        }
    }
}

/// The address of an upstream HTTP proxy.
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
    /// The name or address, in lower case, without the brackets of an IPv6 address.
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host.lowercased()
        self.port = port
    }

    /// `host:port`; an IPv6 address in brackets.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// What a route is chosen for: the origin of a request or of a tunnel.
package struct RouteTarget: Sendable, Hashable {
    /// The URL for a PAC file: that of the request, or `https://host:port/` for a tunnel. It has no user, no query and no fragment.
    package let url: String
    /// The name or address, in lower case, without the brackets of an IPv6 address.
    package let host: String
    package let port: Int

    package init(url: String, host: String, port: Int) {
        self.url = url
        self.host = host.lowercased()
        self.port = port
    }

    /// The target of a tunnel, of whose URLs the proxy knows only the origin.
    package init(tunnelTo host: String, port: Int) {
        self.init(url: "https://\(ProxyServer(host: host, port: port))/", host: host, port: port)
    }
}

/// Chooses the routes of requests, and records whether connections to the upstream proxies were established.
package protocol RouteSource: Sendable {
    /// The routes to try, best first; never empty.
    ///
    /// - Throws: ``RoutingError`` if the configuration cannot be applied, for example because the PAC file cannot be read.
    func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute]

    /// Records that a connection to an upstream proxy was established or failed, for the order of later routes.
    func connectionEnded(to server: ProxyServer, isEstablished: Bool) async
}

/// Why no route can be chosen.
package struct RoutingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One sentence that says what failed and what to do.
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { message }
}
