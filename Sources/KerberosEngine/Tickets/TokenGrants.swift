internal import HTTPNegotiate
internal import Kerberos

/// Creates tokens, and the exchanges that verify the servers' answers.
final class TokenGrants: Sendable {
    /// The service tickets.
    let tickets: ServiceTickets
    /// The credentials that tokens are created from.
    let credentials: InitiatorCredentials
    private let replacements: ServiceTicketReplacements
    private let source: any SessionSource

    init(
        _ tickets: ServiceTickets,
        credentials: InitiatorCredentials,
        replacements: ServiceTicketReplacements,
        source: any SessionSource
    ) {
        self.tickets = tickets
        self.credentials = credentials
        self.replacements = replacements
        self.source = source
    }

    /// Creates the first token of an exchange from a service ticket. This does not block, unless the user's own ticket is delegated: then
    /// the realm's own thread creates the token, because it asks the KDC.
    ///
    /// A service's ticket may expire between the check and the token on a machine that is busy or was suspended. In that case it is
    /// reacquired, more than once if the new one has expired too: a busy machine may take longer than a short lifetime.
    func grant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationGrant {
        for _ in 0..<Self.reacquisitionLimit {
            do throws(AuthorizationError) {
                return try await makeGrant(for: plan, request: request)
            } catch  where source.replacesExpiredSessions && error.code == .notSignedIn {
                credentials.forget()
            }
        }
        return try await makeGrant(for: plan, request: request)
    }

    private static let reacquisitionLimit = 3

    private func makeGrant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError)
        -> AuthorizationGrant
    {
        let credential = try await credentials.credential(for: plan, request: request)
        guard credential.canDelegate else { return try makeGrant(for: plan, request: request, with: credential) }
        let client = tickets.client(for: credential.client.realm, guest: request.guest)
        let step: InitiatorStep
        do throws(KerberosError) {
            step = try await tickets.guests.run(for: request.guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
                try await client.beginNegotiation(
                    with: credential,
                    flags: plan.flags(for: request, credential: credential),
                    channelBindings: plan.channelBindings(for: request)
                )
            }
        } catch {
            throw AuthorizationError(error)
        }
        return try makeGrant(step, for: plan, request: request, with: credential)
    }

    /// Creates a grant from a cached service ticket without asking the KDC; nil if there is none, or if the KDC would be asked.
    func ready(for plan: AuthorizationPlan, request: AuthorizationRequest) -> AuthorizationGrant? {
        guard let credential = credentials.ready(for: plan, request: request), !credential.canDelegate else { return nil }
        return try? makeGrant(for: plan, request: request, with: credential)
    }

    private func makeGrant(
        for plan: AuthorizationPlan,
        request: AuthorizationRequest,
        with credential: InitiatorCredential
    ) throws(AuthorizationError) -> AuthorizationGrant {
        let step: InitiatorStep
        do throws(KerberosError) {
            step = try SPNEGOInitiator.begin(
                with: credential,
                flags: plan.flags(for: request, credential: credential),
                channelBindings: plan.channelBindings(for: request)
            )
        } catch {
            throw AuthorizationError(error)
        }
        return try makeGrant(step, for: plan, request: request, with: credential)
    }

    private func makeGrant(
        _ step: consuming InitiatorStep,
        for plan: AuthorizationPlan,
        request: AuthorizationRequest,
        with credential: InitiatorCredential
    ) throws(AuthorizationError) -> AuthorizationGrant {
        let identity = plan.identity(with: credential)
        let principal = plan.choice(of: request)
        let replaceTicket: TokenExchange.Replacement = { [replacements, guest = request.guest] reason in
            await replacements.replace(refused: credential, reason: reason, for: plan, principal: principal, guest: guest)
        }
        switch consume step {
        case .proceed(let token, let initiator):
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token).headers(for: plan.challenger),
                identity: identity,
                exchange: TokenExchange(
                    initiator,
                    challenger: plan.challenger,
                    hasSuspectOffset: ClockSkew.isSuspect(Double(credential.clockOffset)),
                    replaceTicket: replaceTicket
                )
            )
        case .established(let token, let context):
            // With mutual authentication, the server's answer is still missing. Without it, the exchange may be complete.
            guard request.mutualAuthentication ?? plan.mutualAuthentication == .off else {
                throw AuthorizationError(.mutualAuthenticationFailed, "\(credential.server): mutual authentication was not negotiated.")
            }
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token ?? []).headers(for: plan.challenger),
                identity: identity,
                exchange: TokenExchange(established: context, replaceTicket: replaceTicket)
            )
        }
    }
}

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
