internal import HTTPNegotiate
internal import Kerberos

extension KerberosExtension {
    /// Makes the first token of an exchange. It does not block, since the ticket is at hand; where the user's own ticket goes along, which
    /// the KDC has to be asked for, the realm's own thread makes it.
    ///
    /// A service's ticket may end between the look at it and the token, on a machine that is busy or was asleep: it is got anew, once.
    func grant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationGrant {
        do throws(AuthorizationError) {
            return try await makeGrant(for: plan, request: request)
        } catch {
            guard keytabSession != nil, error.code == .notSignedIn else { throw error }
            initiators.removeAll()
            return try await makeGrant(for: plan, request: request)
        }
    }

    private func makeGrant(for plan: AuthorizationPlan, request: AuthorizationRequest) async throws(AuthorizationError)
        -> AuthorizationGrant
    {
        let credential = try await initiatorCredential(for: plan, request: request)
        guard credential.canDelegate else { return try makeGrant(for: plan, request: request, with: credential) }
        let client = clients.client(for: credential.client.realm, isForGuests: request.guest != nil)
        let step: InitiatorStep
        do throws(KerberosError) {
            step = try await guestGate.run(for: request.guest, subject: plan.servicePrincipal) { () async throws(KerberosError) in
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

    /// A grant from a credential that is ready, without asking anybody; nil where there is none, or the KDC would be asked.
    func readyGrant(for plan: AuthorizationPlan, request: AuthorizationRequest) -> AuthorizationGrant? {
        guard clockWatch.step == nil else { return nil }
        let key = InitiatorStore.Key(plan, principal: plan.choice(of: request))
        guard let credential = initiators.fresh(key, now: options.clock()), !credential.canDelegate else { return nil }
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
        let replaceTicket: TokenExchange.Replacement = { [self] reason in
            await replaceServiceTicket(refused: credential, reason: reason, for: plan, principal: principal, guest: request.guest)
        }
        switch consume step {
        case .proceed(let token, let initiator):
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token).headers,
                identity: identity,
                exchange: TokenExchange(initiator, hasClockOffset: credential.clockOffset != 0, replaceTicket: replaceTicket)
            )
        case .established(let token, let context):
            // With mutual authentication the server's answer is missing yet; without it there may be nothing to wait for.
            guard request.mutualAuthentication ?? plan.mutualAuthentication == .off else {
                throw AuthorizationError(.mutualAuthenticationFailed, "\(credential.server): mutual authentication was not negotiated.")
            }
            return AuthorizationGrant(
                headers: NegotiateCredentials(token: token ?? []).headers,
                identity: identity,
                exchange: TokenExchange(established: context, replaceTicket: replaceTicket)
            )
        }
    }
}

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
