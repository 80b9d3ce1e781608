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
