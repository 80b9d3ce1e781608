/// The security context behind a grant. One request, one exchange; dropping it abandons the context.
public protocol AuthorizationExchange: Sendable {
    /// Feeds the server's token.
    ///
    /// Throws an ``AuthorizationError``; the context is of no further use then. Its code is
    /// ``AuthorizationError/Code/refusedByServer`` when the token says that the server refuses the ticket,
    /// ``AuthorizationError/Code/mutualAuthenticationFailed`` when it accepts the ticket and proves nothing, and
    /// ``AuthorizationError/Code/invalidResponse`` when it does not verify.
    ///
    /// - Parameter token: The token, decoded.
    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep

    /// The server refused the token. Has another service ticket asked for in place of the one that made it, since the server may have
    /// another key since that one was issued; once for each ticket.
    ///
    /// - Returns: Whether the next grant comes from another ticket, so that the request may be sent once more.
    func replaceRefusedTicket() async -> Bool

    /// Whether the user's own ticket went to the server. It is settled with the first token.
    var isDelegated: Bool { get }
}

extension AuthorizationExchange {
    /// False: an extension that delegates says so itself.
    public var isDelegated: Bool { false }

    /// False: an extension that can ask for another ticket says so itself.
    public func replaceRefusedTicket() async -> Bool { false }
}
