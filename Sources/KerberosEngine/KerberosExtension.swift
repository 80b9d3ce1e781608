package import HTTPNegotiate
internal import Kerberos

package import struct Foundation.URL

/// Answers challenges in this process: selects profile, host rule, realm, session and service ticket, and creates the SPNEGO token. Users
/// have `SingleSignOn`, which describes the calls that both have.
///
/// Can be used from any number of tasks. Concurrent requests for one service ticket share one request to the KDC. No lock is held across an
/// `await`, and no blocking call runs on the threads of Swift's cooperative pool.
package final class KerberosExtension: CredentialExtension {
    /// Decides which hosts are answered.
    package let policy: DecisionPolicy
    /// One client per realm, and the options.
    let clients: RealmClients
    /// Where the sessions come from that answer challenges.
    let source: any SessionSource
    /// Corrects the stored offsets of the KDCs' clocks.
    let offsets: ClockOffsets
    /// Creates tokens from service tickets.
    let tokens: TokenGrants
    /// Signs in principals.
    let signIns: SignIns
    /// Changes passwords, and reads accounts in the directories of domains.
    let passwords: PasswordChanges

    /// Creates an extension. Nothing is read or sent before the first call.
    package init(_ options: Options) {
        let policy = DecisionPolicy(options.configurations)
        let clients = RealmClients(options)
        let initiators = InitiatorCredentialCache()
        let store = SessionStore(options, clients: clients, initiators: initiators)
        let offsets = ClockOffsets(
            ClockWatch(wall: options.clock, uptime: options.uptime),
            clients: clients,
            initiators: initiators,
            store: store
        )
        let service: KeytabSession? =
            switch options.credential {
            case .sessions: nil
            case .keytab(let keytab, let principal):
                KeytabSession(options.naming(keytab), principal: principal, policy: policy, clients: clients, clock: options.clock)
            }
        let signIns = SignIns(options, policy: policy, clients: clients, store: store, sessions: service ?? store)
        let source: any SessionSource = service ?? UserSessions(signIns, offsets: offsets, options: options)
        let tickets = ServiceTickets(clients: clients, guests: GuestRequestLimiter(), clock: options.clock)
        self.policy = policy
        self.clients = clients
        self.source = source
        self.offsets = offsets
        self.signIns = signIns
        passwords = signIns.exchange.passwords
        tokens = TokenGrants(
            tickets,
            credentials: InitiatorCredentials(initiators, tickets: tickets, source: source, offsets: offsets, clock: options.clock),
            replacements: ServiceTicketReplacements(initiators, tickets: tickets, source: source),
            source: source
        )
    }

    /// The decision for a URL. Uses neither the network nor a cache.
    package func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    /// The decision for an origin server or a proxy. Uses neither the network nor a cache.
    package func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        policy.decision(for: url, challenger: challenger)
    }

    /// Answers a challenge; or signs in, refreshes or signs out, for the realm that covers the URL.
    package func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        let decision = decision(for: request)
        guard let plan = decision.plan else { return .notHandled(decision.reasons) }
        switch request.operation {
        case .implicit:
            return .headers(try await tokens.grant(for: plan, request: request))
        case .login, .refresh, .logout:
            do throws(KerberosError) {
                return .completed(try await perform(request.operation, plan: plan, request: request)?.reply)
            } catch {
                throw AuthorizationError(error)
            }
        default:
            let detail = "The operation \(request.operation) is unknown."
            return .notHandled([DecisionReason(rule: "operation", verdict: .failed, detail: detail)])
        }
    }

    /// The identity that would answer a request.
    package func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        guard request.operation == .implicit, let plan = decision(for: request).plan else { return nil }
        return plan.identity(with: try await tokens.credentials.credential(for: plan, request: request))
    }

    /// Creates a grant from a cached service ticket, on the caller's thread.
    package func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
        guard request.operation == .implicit, let plan = decision(for: request).plan else { return nil }
        return tokens.ready(for: plan, request: request)
    }

    /// The decision for a request: the one that travels with it, unless another policy made it, or it is for another challenger.
    private func decision(for request: AuthorizationRequest) -> AuthorizationDecision {
        if let plan = request.plan, plan.challenger == request.challenger, plan.isDecided(by: policy) { return .answer(plan) }
        return policy.decision(for: request.url, challenger: request.challenger)
    }

    /// The session after the operation; nil after a sign-out.
    private func perform(
        _ operation: AuthorizationOperation,
        plan: AuthorizationPlan,
        request: AuthorizationRequest
    ) async throws(KerberosError) -> Session? {
        if operation == .logout {
            try await signOut(for: plan, principal: request.principal)
            return nil
        }
        let mayAsk = request.isUserInterfaceEnabled && operation == .login
        let session = try await source.session(for: plan, principal: request.principal, mayAsk: mayAsk)
        // The session exists now, which is all that a login requires.
        return operation == .refresh ? try await refresh(session) : session
    }

    /// Ends the session that would answer for a plan. Acquires no ticket. Without a session, removes the password with which the next
    /// request would sign in.
    private func signOut(for plan: AuthorizationPlan, principal name: String?) async throws(KerberosError) {
        let present = try await source.present(for: plan, principal: name)
        var principal = present?.principal
        if principal == nil, let name = name ?? plan.configuration.principalName {
            principal = try await names.principal(name, realm: plan.realm)
        }
        let result = try await signOut(principal, realm: principal == nil ? plan.realm : nil)
        guard present == nil, result.forgotten.isEmpty else { return }
        throw principal.map(KerberosError.notSignedIn) ?? .notSignedIn(toRealm: plan.realm)
    }
}
