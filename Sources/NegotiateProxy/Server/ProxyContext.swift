internal import HTTPNegotiate
internal import Logging
internal import NIOCore
internal import SignOnPolicy

internal import struct Foundation.URL

/// What all connections of a running proxy share.
struct ProxyContext: Sendable {
    let configuration: ProxyConfiguration
    let credentials: any CredentialExtension
    let routes: any RouteSource
    let activity: ProxyActivity
    let logger: Logger
    let ownConnections = ProxyConnectionTable()
    /// What earlier requests have learned about origins.
    let memory = OriginMemory()
    let names = NameResolver()
    /// The name of this proxy in `Via` for upstream proxies, which is different for each run so that a loop is detected.
    let name = "ksso-" + String(UInt32.random(in: .min ... .max), radix: 16)
    /// The name for web servers and clients, by which web sites cannot recognize the user.
    static let publicName = "ksso"

    /// The name for the next recipient of a request. In reverse mode, a server on this machine could be a proxy that forwards to this one.
    func name(for route: ProxyRoute, to origin: Origin) -> String {
        let isLocal = origin.host == "localhost" || origin.host.hasSuffix(".localhost")
        let mayReturn = configuration.destination != nil && isLocal
        return route == .direct && !mayReturn ? Self.publicName : name
    }

    var limits: ProxyConfiguration.Limits { configuration.limits }
    var idleTime: TimeAmount { TimeAmount(limits.idleTime) }

    /// Whether the profile names an upstream proxy, so that it gets tickets.
    func covers(_ server: ProxyServer) -> Bool {
        URL(string: "http://\(server)").map { credentials.decision(for: $0, challenger: .proxy) }?.plan != nil
    }

    /// Whether the profile covers the origin of a URL.
    func covers(_ url: String) -> Bool { URL(string: url).map { credentials.decision(for: $0) }?.plan != nil }

    /// Who would sign in to an upstream proxy now, without a prompt; nil if no one would.
    func identity(at server: ProxyServer) async throws -> AuthorizationIdentity? {
        guard let url = URL(string: "http://\(server)") else { return nil }
        do throws(AuthorizationError) {
            return try await credentials.identity(for: AuthorizationRequest(url: url, challenger: .proxy, isUserInterfaceEnabled: false))
        } catch {
            try Task.checkCancellation()
            return nil
        }
    }

    /// Whether a request of this client may prompt. Prompts appear to the proxy's user, so that only that user's requests may.
    func mayPrompt(for client: UInt32) -> Bool { configuration.isUserInterfaceEnabled && client == PeerUser.own }

    /// Whether an upstream proxy gets the client's own `Proxy-Authorization`. One that gets tickets does not.
    func passesProxyAuthorization(to server: ProxyServer) -> Bool { configuration.passesProxyAuthorization && !covers(server) }

    /// Records a failure and logs it.
    func note(_ failure: ProxyFailure, host: String?) {
        activity.note(failure, host: host)
        logger.info("\(host.map { "\($0): " } ?? "")\(failure.message)")
    }
}
