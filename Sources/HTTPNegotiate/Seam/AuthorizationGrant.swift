public import HTTPTypes

/// The headers that answer a challenge, and the security context that they opened.
public struct AuthorizationGrant: Sendable {
    /// The fields to add to the request: `Authorization: Negotiate …`.
    public let headers: HTTPFields
    /// Who answers whom.
    public let identity: AuthorizationIdentity
    /// The security context, which takes the server's answer. For this one request only.
    public let exchange: any AuthorizationExchange

    /// Makes a grant.
    public init(headers: HTTPFields, identity: AuthorizationIdentity, exchange: any AuthorizationExchange) {
        self.headers = headers
        self.identity = identity
        self.exchange = exchange
    }

    /// The principal that signs the request.
    public var principal: String { identity.principal }
    /// The service principal that the ticket is for.
    public var servicePrincipal: String { identity.servicePrincipal }
}

extension AuthorizationGrant: CustomStringConvertible, CustomReflectable {
    /// Who and for whom, never the token.
    public var description: String { "\(principal) for \(servicePrincipal)" }
    /// Never the token.
    public var customMirror: Mirror { Mirror(self, children: ["principal": principal, "servicePrincipal": servicePrincipal]) }
}

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

/// What a security context wants after a token of the server.
public enum AuthorizationExchangeStep: Sendable, Hashable {
    /// One more leg: send the request again with these fields.
    case send(HTTPFields)
    /// The context stands, and the server has proved itself as asked.
    case established
}

/// Who answers whom: what a connection must be kept to once it has carried a ticket.
public struct AuthorizationIdentity: Sendable, Hashable {
    /// The principal that signs the requests.
    public let principal: String
    /// The service principal that the ticket is for.
    public let servicePrincipal: String
    /// Whether the server is to get the user's own ticket.
    public let delegation: Delegation

    /// Makes an identity.
    public init(principal: String, servicePrincipal: String, delegation: Delegation = .none) {
        self.principal = principal
        self.servicePrincipal = servicePrincipal
        self.delegation = delegation
    }
}
