public import HTTPTypes
public import SignOnPolicy

/// The headers that answer a challenge, and the security context that created them.
public struct AuthorizationGrant: Sendable {
    /// The fields to add to the request: `Authorization: Negotiate …`, or `Proxy-Authorization: Negotiate …` for a proxy.
    public let headers: HTTPFields
    /// The client and service principals.
    public let identity: AuthorizationIdentity
    /// The security context, which processes the server's answer. For this one request only.
    public let exchange: any AuthorizationExchange

    /// Creates a grant.
    public init(headers: HTTPFields, identity: AuthorizationIdentity, exchange: any AuthorizationExchange) {
        self.headers = headers
        self.identity = identity
        self.exchange = exchange
    }

    /// The client principal of the ticket.
    public var principal: String { identity.principal }
    /// The service principal of the ticket.
    public var servicePrincipal: String { identity.servicePrincipal }
}

extension AuthorizationGrant: CustomStringConvertible, CustomReflectable {
    /// Both principals, never the token.
    public var description: String { "\(principal) for \(servicePrincipal)" }
    /// Both principals, never the token.
    public var customMirror: Mirror { Mirror(self, children: ["principal": principal, "servicePrincipal": servicePrincipal]) }
}

/// The security context of a grant, for one request. Releasing it abandons the context.
public protocol AuthorizationExchange: Sendable {
    /// Processes the server's token.
    ///
    /// Throws an `AuthorizationError`, after which the context cannot be used again. Its code is
    /// `AuthorizationError.Code.refusedByServer` if the token says that the server rejects the ticket,
    /// `AuthorizationError.Code.mutualAuthenticationFailed` if it accepts the ticket without authenticating the server, and
    /// `AuthorizationError.Code.invalidResponse` if it does not verify.
    ///
    /// - Parameter token: The decoded token.
    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep

    /// Requests another service ticket after the server rejected the token, because the service's key may have changed since the ticket was
    /// issued. Works once for each ticket.
    ///
    /// - Returns: Whether the next grant uses another ticket, so that the request can be sent once more.
    func replaceRefusedTicket() async -> Bool

    /// Whether the user's ticket was delegated to the server. It is final with the first token.
    var isDelegated: Bool { get }
}

extension AuthorizationExchange {
    /// Returns false; an extension that delegates overrides this.
    public var isDelegated: Bool { false }

    /// Returns false; an extension that can request another ticket overrides this.
    public func replaceRefusedTicket() async -> Bool { false }
}

/// The result of processing a token from the server.
public enum AuthorizationExchangeStep: Sendable, Hashable {
    /// One more leg: send the request again with these fields.
    case send(HTTPFields)
    /// The context is established, and the server has authenticated itself as required.
    case established
}

/// The client and server of a ticket: a connection that has carried the ticket must not be used for another identity.
public struct AuthorizationIdentity: Sendable, Hashable {
    /// The client principal of the ticket.
    public let principal: String
    /// The service principal of the ticket.
    public let servicePrincipal: String
    /// Whether to delegate the user's ticket to the server.
    public let delegation: Delegation

    /// Creates an identity.
    public init(principal: String, servicePrincipal: String, delegation: Delegation = .none) {
        self.principal = principal
        self.servicePrincipal = servicePrincipal
        self.delegation = delegation
    }
}
