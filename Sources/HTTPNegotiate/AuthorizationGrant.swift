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
