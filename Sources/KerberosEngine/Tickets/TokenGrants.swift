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
