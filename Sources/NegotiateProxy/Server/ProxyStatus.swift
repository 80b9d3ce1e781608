package import struct Foundation.Date

/// What a running proxy does, for `ksso proxy status`.
package struct ProxyStatus: Sendable, Hashable, Codable {
    /// An upstream proxy that was used.
    package struct Upstream: Sendable, Hashable, Codable {
        /// `host:port`.
        package var server: String
        /// Whether the last connection was established.
        package var isReachable: Bool
        /// When that was found.
        package var checkedAt: Date
    }

    /// A request that the proxy refused or could not forward.
    package struct Failure: Sendable, Hashable, Codable {
        package var date: Date
        /// `host:port` of the origin; nil if the request named none.
        package var host: String?
        /// The status of the page that the client got.
        package var status: Int
        /// The rule that refused, or the remedy.
        package var message: String
    }

    /// The addresses and paths of the sockets.
    package var listeners: [String] = []
    package var startedAt: Date
    package var openClients = 0
    package var openTunnels = 0
    package var requests = 0
    /// All tunnels since the start.
    package var tunnels = 0
    package var upstreams: [Upstream] = []
    /// The last failures, the latest first.
    package var failures: [Failure] = []
}
