internal import HTTPNegotiate
internal import Kerberos

extension AuthorizationPlan {
    /// The service principal to request. Its realm is the plan's, if it names one. Otherwise it is empty, so that the user's KDC finds the
    /// realm; but if the session's realm is not the profile's, it is the profile's realm.
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
                message: "this is not a service principal. \(origin) sets it for \(self.origin); write it as HTTP/host or HTTP/host@REALM."
            )
        }
    }

    /// The principal that a request names, if the profile allows the choice.
    func choice(of request: AuthorizationRequest) -> String? {
        configuration.credentialUseMode?.choice(request.principal) ?? (configuration.credentialUseMode == nil ? request.principal : nil)
    }

    /// The identity that a credential gives to this plan's requests.
    func identity(with credential: InitiatorCredential) -> AuthorizationIdentity {
        AuthorizationIdentity(
            principal: credential.client.description,
            servicePrincipal: credential.server.description,
            delegation: delegation
        )
    }

    /// The flags of a security context for this plan.
    func flags(for request: AuthorizationRequest, credential: InitiatorCredential) -> ContextFlags {
        var flags: ContextFlags = .integrity
        if request.mutualAuthentication ?? mutualAuthentication != .off { flags.insert(.mutualAuthentication) }
        // Without TLS there is nothing to bind to. The flag prevents an attacker who intercepts the token from using it over TLS.
        if origin.scheme == .http { flags.insert(.channelBound) }
        if credential.canDelegate { flags.insert(delegation == .always ? .delegation : .delegationByPolicy) }
        return flags
    }

    /// The channel bindings of a request's token.
    func channelBindings(for request: AuthorizationRequest) -> ChannelBindings? {
        bindsChannel ? request.channelBindings.map { ChannelBindings(applicationData: $0) } : nil
    }
}

extension Delegation {
    /// Whether a ticket-granting ticket is allowed to be delegated to a service and is forwardable. Otherwise the KDC need not be asked for
    /// a forwarded ticket.
    func allows(_ ticketGrantingTicket: Credential, to service: Credential) -> Bool {
        switch self {
        case .none: false
        case .byPolicy: service.isForTrustedService && ticketGrantingTicket.isForwardable
        case .always: ticketGrantingTicket.isForwardable
        }
    }
}

extension Principal {
    /// The host in a service principal's name.
    var host: String? { components.count == 2 ? components[1] : nil }
}
