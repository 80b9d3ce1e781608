/// What authentication came to for one response.
public struct NegotiationReport: Sendable, Hashable {
    /// Whether Negotiate was used, and with what result.
    public let delivery: NegotiateExchange.Delivery
    /// Who answered whom; nil where nobody did.
    public let identity: AuthorizationIdentity?
    /// Whether the ticket was bound to the server's TLS certificate. Whether the server looked at it, only the server knows.
    public let isChannelBound: Bool
    /// Whether the user's own ticket went to the server.
    public let isDelegated: Bool

    /// Makes a report.
    public init(
        delivery: NegotiateExchange.Delivery,
        identity: AuthorizationIdentity? = nil,
        isChannelBound: Bool = false,
        isDelegated: Bool = false
    ) {
        self.delivery = delivery
        self.identity = identity
        self.isChannelBound = isChannelBound
        self.isDelegated = isDelegated
    }
}
