public import SignOnPolicy

/// How a client sends requests and answers challenges, the same for every HTTP library.
public struct NegotiationOptions: Sendable, Hashable {
    /// Whether a server must authenticate itself before its response is returned. If nil (the default), the profile decides for each host,
    /// which requires it unless one of its lists contains the host.
    public var mutualAuthentication: MutualAuthentication?
    /// The maximum number of requests with the client's `Authorization` field in one exchange. Kerberos needs one; the default is 4.
    public var maximumLegs = 4
    /// The maximum number of redirects to follow. The default is 5; with 0 every 3xx is returned.
    public var maximumRedirects = 5
    /// The maximum number of bytes of a body in several pieces, or of a body stream, that are held in memory so that it can be sent again.
    /// The default is 1 MiB.
    public var maximumReplayableBody = 1 << 20
    /// The principal to use if several are signed in. By default the extension chooses.
    public var principal: String?
    /// Whether the extension may prompt the user. Off by default.
    public var isUserInterfaceEnabled = false

    /// Creates options with the defaults.
    public init() {}
}

/// The settings of one call: the caller's options, and what the client library cannot provide.
package struct CallSettings: Sendable {
    package var options: NegotiationOptions
    package var unboundTLS: UnboundTLS
    /// Receives what is sent and received, in order.
    package var observe: (@Sendable (CallEvent) -> Void)?

    package init(_ options: NegotiationOptions, unboundTLS: UnboundTLS, observe: (@Sendable (CallEvent) -> Void)? = nil) {
        self.options = options
        self.unboundTLS = unboundTLS
        self.observe = observe
    }
}
