public import AsyncHTTPClient
public import HTTPNegotiate

extension NegotiatingHTTPClient {
    /// How requests are sent and challenges answered.
    public struct Configuration: Sendable {
        /// Whether a server must prove itself before its response is handed on. By default nil: the profile decides for each host, and says
        /// yes where it says nothing.
        public var mutualAuthentication: MutualAuthentication?
        /// How many requests with our `Authorization` field one exchange may send. Kerberos needs one; by default 4.
        public var maximumLegs: Int
        /// How many redirects are followed. By default 5; with 0 every 3xx is handed on.
        public var maximumRedirects: Int
        /// How many bytes of a request's own body that comes in several pieces are kept in memory, so that it can be sent again. By default
        /// 1 MiB.
        public var maximumReplayableBody: Int
        /// The principal that answers, when several are signed in. By default the extension chooses.
        public var principal: String?
        /// Whether the extension may ask the user. Off by default.
        public var isUserInterfaceEnabled: Bool
        /// How connections are made: `tlsConfiguration`, `timeout.connect`, `proxy`, `dnsOverride` and the like.
        ///
        /// By default a connection that is refused is an error at once (`connectionPool.retryConnectionEstablishment` is off). Redirects
        /// and decompression are always off here, and the hooks for debugging connections are taken. Not looked at with a client that was
        /// made elsewhere.
        public var connections: HTTPClient.Configuration

        /// Makes a configuration with the defaults.
        public init() {
            maximumLegs = 4
            maximumRedirects = 5
            maximumReplayableBody = 1 << 20
            isUserInterfaceEnabled = false
            connections = HTTPClient.Configuration()
            connections.connectionPool.retryConnectionEstablishment = false
        }
    }
}

extension NegotiatingHTTPClient.Configuration {
    func settings(unboundTLS: UnboundTLS) -> CallSettings {
        CallSettings(
            mutualAuthentication: mutualAuthentication,
            unboundTLS: unboundTLS,
            maximumLegs: maximumLegs,
            maximumRedirects: maximumRedirects,
            maximumReplayableBody: maximumReplayableBody,
            principal: principal,
            isUserInterfaceEnabled: isUserInterfaceEnabled
        )
    }
}
