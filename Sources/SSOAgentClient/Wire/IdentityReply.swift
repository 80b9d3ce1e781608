package import HTTPNegotiate

/// The answer to `POST /v1/identity`.
package struct IdentityReply: Codable, Sendable {
    /// Who answers whom.
    package struct Identity: Codable, Sendable {
        package var principal: String
        package var servicePrincipal: String
        package var delegation: String
    }

    /// Nil: the request would not be answered.
    package var identity: Identity?

    package init(_ identity: AuthorizationIdentity?) {
        self.identity = identity.map {
            Identity(principal: $0.principal, servicePrincipal: $0.servicePrincipal, delegation: $0.delegation.rawValue)
        }
    }

    /// As the seam has it.
    package var authorizationIdentity: AuthorizationIdentity? {
        identity.map { AuthorizationIdentity($0.principal, $0.servicePrincipal, delegation: $0.delegation) }
    }
}

extension AuthorizationIdentity {
    /// From the wire; a delegation that is not known counts as one.
    init(_ principal: String, _ servicePrincipal: String, delegation: String?) {
        self.init(
            principal: principal,
            servicePrincipal: servicePrincipal,
            delegation: delegation.map { Delegation(rawValue: $0) ?? .always } ?? .none
        )
    }
}
