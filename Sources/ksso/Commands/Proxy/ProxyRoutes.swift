internal import Foundation
internal import NegotiateProxy
internal import SignOnPolicy
internal import Synchronization

/// Where the proxy sends requests: from the options, the profiles or the environment.
struct ProxyRoutes: Sendable, Hashable, Codable {
    /// Where the routes come from.
    enum Source: String, Sendable, Hashable, Codable {
        case options, profile, environment
    }

    /// The options of the command.
    struct Options: Sendable, Hashable {
        var servers: [String] = []
        var autoConfiguration: String?
        /// The list as in `no_proxy`; nil leaves it to the profiles and the environment.
        var noProxy: String?
    }

    /// Where the upstream proxies come from.
    let source: Source
    /// The upstream proxies, best first, as `host:port`.
    let servers: [String]
    /// The path or URL of the PAC file.
    let autoConfiguration: String?
    /// The entries as in `no_proxy`.
    let noProxy: [String]

    /// Selects the routes. The options precede the profiles, and those precede the environment.
    init(_ options: Options, configurations: [ExtensionConfiguration], environment: [String: String]) {
        let profile = configurations.first { $0.proxyAutoConfigURL != nil || !$0.proxyServers.isEmpty }
        if options.autoConfiguration != nil || !options.servers.isEmpty {
            (source, servers, autoConfiguration) = (.options, options.servers, options.autoConfiguration)
        } else if let profile {
            (source, servers) = (.profile, profile.proxyServers.map(\.description))
            autoConfiguration = profile.proxyAutoConfigURL
        } else {
            (source, servers, autoConfiguration) = (.environment, [], nil)
        }
        let entries = configurations.flatMap(\.noProxy)
        let lists = [environment["no_proxy"], environment["NO_PROXY"]].compactMap(\.self)
        noProxy =
            if let list = options.noProxy {
                Self.entries(list)
            } else if !entries.isEmpty {
                entries
            } else {
                Self.entries(lists.first { !$0.isEmpty } ?? "")
            }
    }

    private static func entries(_ list: String) -> [String] {
        list.split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    /// The source of the routes for the proxy.
    ///
    /// - Parameter ownPorts: The ports at which the proxy listens, which variables for its clients may name.
    /// - Throws: `RoutingError` for a value that is not valid.
    func makeSource(environment: [String: String], ownPorts: Set<Int>) throws(RoutingError) -> any RouteSource {
        guard source != .environment else {
            // Another list than that of the variables replaces it.
            var variables = environment
            (variables["no_proxy"], variables["NO_PROXY"]) = (nil, nil)
            let upstreams = try ProxyEnvironment(variables, ownPorts: ownPorts)
            return ConfiguredRoutes(noProxy: NoProxy(entries: noProxy), otherwise: upstreams)
        }
        return try ConfiguredRoutes(
            noProxy: noProxy,
            servers: servers,
            autoConfiguration: autoConfiguration,
            worker: PACWorkerProgram(path: OwnProgram.executable)
        )
    }

    /// The routes as part of a sentence.
    var sentence: String {
        let place =
            switch source {
            case .options: "of the command line"
            case .profile: "of the profile"
            case .environment: "of the variables http_proxy and https_proxy, else direct"
            }
        let ways =
            if let autoConfiguration {
                "the PAC file \(autoConfiguration) \(place)"
            } else if servers.isEmpty {
                "those \(place)"
            } else {
                "\(servers.joined(separator: ", ")) \(place)"
            }
        return noProxy.isEmpty ? ways : "\(ways); direct to \(noProxy.joined(separator: ", "))"
    }
}

/// The routes of a running proxy, which are replaced when the profiles change.
final class CurrentRoutes: RouteSource {
    private struct State {
        var routes: ProxyRoutes
        var source: any RouteSource
    }

    private let state: Mutex<State>

    init(_ routes: ProxyRoutes, _ source: any RouteSource) { state = Mutex(State(routes: routes, source: source)) }

    /// The routes as they were configured.
    var configured: ProxyRoutes { state.withLock { $0.routes } }

    func replace(with routes: ProxyRoutes, _ source: any RouteSource) {
        state.withLock { $0 = State(routes: routes, source: source) }
    }

    func routes(to target: RouteTarget) async throws(RoutingError) -> [ProxyRoute] {
        try await state.withLock { $0.source }.routes(to: target)
    }

    func connectionEnded(to server: ProxyServer, isEstablished: Bool) async {
        await state.withLock { $0.source }.connectionEnded(to: server, isEstablished: isEstablished)
    }
}
