/// The security context behind a grant. One request, one exchange; dropping it abandons the context.
public protocol AuthorizationExchange: Sendable {
    /// Feeds the server's token.
    ///
    /// Throws an ``AuthorizationError`` with the code ``AuthorizationError/Code/invalidResponse`` when the token does not verify; the
    /// context is of no further use then.
    ///
    /// - Parameter token: The token, decoded.
    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep

    /// Whether the user's own ticket went to the server. It is settled with the first token.
    var isDelegated: Bool { get }
}

extension AuthorizationExchange {
    /// False: an extension that delegates says so itself.
    public var isDelegated: Bool { false }
}
