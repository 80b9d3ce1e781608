internal import HTTPNegotiate
internal import Kerberos

extension AuthorizationPlan {
    /// The service to ask for: the plan's, in the realm that the plan names; else in none, so that the user's KDC finds it; and for a
    /// principal of another realm than the profile's, in the profile's.
    func service(for session: Session) throws(KerberosError) -> Principal {
        let name =
            if serviceRealm != nil { servicePrincipal } else { "\(servicePrincipal)@\(session.realm == realm ? "" : realm)" }
        do throws(KerberosError) {
            return try Principal(name)
        } catch {
            let origin = configuration.servicePrincipals[origin] == nil ? "The URL's host" : "ServicePrincipals of the profile"
            throw KerberosError(
                .malformedPrincipal,
                subject: servicePrincipal,
                message: "this is no service's name. \(origin) has it for \(self.origin); write it as HTTP/host or HTTP/host@REALM."
            )
        }
    }

    /// The principal that a request names, where the profile lets it choose.
    func choice(of request: AuthorizationRequest) -> String? {
        configuration.credentialUseMode?.choice(request.principal) ?? (configuration.credentialUseMode == nil ? request.principal : nil)
    }

    /// Who answers whom with a credential.
    func identity(with credential: InitiatorCredential) -> AuthorizationIdentity {
        AuthorizationIdentity(
            principal: credential.client.description,
            servicePrincipal: credential.server.description,
            delegation: delegation
        )
    }

    /// What to ask of a security context that carries out this plan.
    func flags(for request: AuthorizationRequest, credential: InitiatorCredential) -> ContextFlags {
        var flags: ContextFlags = .integrity
        if request.mutualAuthentication ?? mutualAuthentication != .off { flags.insert(.mutualAuthentication) }
        // Without TLS there is nothing to bind to; but who catches the token shall not be able to use it where there is.
        if origin.scheme == .http { flags.insert(.channelBound) }
        if credential.canDelegate { flags.insert(delegation == .always ? .delegation : .delegationByPolicy) }
        return flags
    }

    /// What the token of a request is bound to.
    func channelBindings(for request: AuthorizationRequest) -> ChannelBindings? {
        bindsChannel ? request.channelBindings.map { ChannelBindings(applicationData: $0) } : nil
    }
}

extension Delegation {
    /// Whether a copy of a ticket-granting ticket may go to a service, and can: otherwise the KDC need not be asked for one.
    func allows(_ ticketGrantingTicket: Credential, to service: Credential) -> Bool {
        switch self {
        case .none: false
        case .byPolicy: service.isForTrustedService && ticketGrantingTicket.isForwardable
        case .always: ticketGrantingTicket.isForwardable
        }
    }
}

extension Principal {
    /// The host of a service's name.
    var host: String? { components.count == 2 ? components[1] : nil }
}
