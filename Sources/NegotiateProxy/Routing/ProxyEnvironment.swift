internal import Foundation
package import SignOnPolicy
internal import SystemSupport

/// The routes that the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` name, read as curl reads them.
///
/// `http_proxy` is read only in lower case, because a web server sets `HTTP_PROXY` for its CGI programs from a request's field `Proxy`.
/// The other variables are read in lower case, else in upper case. An empty variable counts as not set. A value is a host with an
/// optional `http://` and an optional port, which is 1080 by default.
///
/// Unlike curl, this refuses what the local proxy cannot do: a proxy with a password in its URL, TLS to the proxy, and SOCKS.
package struct ProxyEnvironment: RouteSource {
    /// The upstream proxy of `http` URLs; nil if they are fetched directly.
    package let http: ProxyServer?
    /// The upstream proxy of `https` URLs and of tunnels; nil if they are fetched directly.
    package let https: ProxyServer?
    /// The hosts that are reached directly.
    package let noProxy: NoProxy

    /// Reads the variables.
    ///
    /// - Parameters:
    ///   - variables: The environment.
    ///   - ownPorts: The ports on loopback at which this proxy listens. Variables that name one of them are meant for this proxy's clients,
    ///     and are ignored.
    /// - Throws: A `RoutingError` that names the variable.
    package init(_ variables: [String: String], ownPorts: Set<Int> = []) throws(RoutingError) {
        func value(_ names: String...) throws(RoutingError) -> ProxyServer? {
            for name in names {
                guard let text = variables[name], !text.isEmpty else { continue }
                let server = try Self.server(text, name)
                return server.isLoopback && ownPorts.contains(server.port) ? nil : server
            }
            return nil
        }
        http = try value("http_proxy", "all_proxy", "ALL_PROXY")
        https = try value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        let lists = [variables["no_proxy"], variables["NO_PROXY"]]
        noProxy = NoProxy(lists.lazy.compactMap(\.self).first { !$0.isEmpty } ?? "")
    }

    package func routes(to target: RouteTarget) -> [ProxyRoute] {
        guard noProxy.entry(covering: target.host, port: target.port) == nil else { return [.direct] }
        let server = target.url.lowercased().hasPrefix("https:") ? https : http
        return [server.map { .upstream($0) } ?? .direct]
    }

    package func connectionEnded(to server: ProxyServer, isEstablished: Bool) {}

    private static func server(_ text: String, _ variable: String) throws(RoutingError) -> ProxyServer {
        var rest = text[...]
        if let separator = text.range(of: "://") {
            let scheme = text[..<separator.lowerBound].lowercased()
            guard scheme == "http" else { throw RoutingError(refusal(ofScheme: scheme, variable)) }
            rest = text[separator.upperBound...]
        }
        rest = rest.prefix { !"/?#".contains($0) }
        guard !rest.contains("@") else {
            let reason = "has a user name or a password in its URL, which the local proxy does not use"
            throw RoutingError("The variable \(variable) \(reason): remove the part before the “@”, and use a proxy that accepts tickets.")
        }
        do throws(RoutingError) {
            return try ProxyServer(String(rest), defaultPort: 1080)
        } catch {
            throw RoutingError("The variable \(variable) is not valid. \(error.message)")
        }
    }

    private static func refusal(ofScheme scheme: String, _ variable: String) -> String {
        let instead = "set it to the address of an HTTP proxy, such as http://proxy.corp.example:3128."
        return switch scheme {
        case "https": "The variable \(variable) names a proxy that is reached over TLS, which the local proxy cannot use: \(instead)"
        case "socks", "socks4", "socks4a", "socks5", "socks5h":
            "The variable \(variable) names a SOCKS proxy, which cannot ask for a ticket: \(instead)"
        default: "The variable \(variable) has the scheme “\(scheme.escapedForDisplay(limit: 40))”: \(instead)"
        }
    }
}

extension ProxyServer {
    /// Whether the server is reached over the loopback interface.
    package var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host.hasPrefix("127.") && NetworkAddress(host) != nil
    }
}
