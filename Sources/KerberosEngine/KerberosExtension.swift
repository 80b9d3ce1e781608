public import HTTPNegotiate
package import Kerberos

public import struct Foundation.URL

/// Answers challenges in this process: selects profile, host rule, realm, session and service ticket, and creates the SPNEGO token.
///
/// Can be used from any number of tasks. Concurrent requests for one service ticket share one request to the KDC. No lock is held across an
/// `await`, and no blocking call runs on the threads of Swift's cooperative pool.
public final class KerberosExtension: CredentialExtension {
    /// Decides which hosts are answered.
    public let policy: DecisionPolicy
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
    /// Changes passwords.
    let passwords: PasswordChanges
    /// Reads accounts in the directories of domains.
    let accounts: AccountReadings

    /// Creates an extension. Nothing is read or sent before the first call.
    public init(_ options: Options) {
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
        accounts = AccountReadings(options, clients: clients, store: store)
        tokens = TokenGrants(
            tickets,
            credentials: InitiatorCredentials(initiators, tickets: tickets, source: source, offsets: offsets, clock: options.clock),
            replacements: ServiceTicketReplacements(initiators, tickets: tickets, source: source),
            source: source
        )
    }

    /// The decision for a URL. Uses neither the network nor a cache.
    public func decision(for url: URL) -> AuthorizationDecision { policy.decision(for: url) }

    /// The decision for an origin server or a proxy. Uses neither the network nor a cache.
    public func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        policy.decision(for: url, challenger: challenger)
    }

    /// Answers a challenge with an `Authorization` header, or a proxy's with `Proxy-Authorization`; or signs in, refreshes or signs out,
    /// for the realm that covers the URL.
    ///
    /// Returns `notHandled`, with the reasons, for an unknown operation and for a URL that no rule covers. A sign-in prompts only if the
    /// request allows it and there is a prompter. A refresh and a sign-out never prompt.
    ///
    /// The token is bound to the request's `channelBindings` if the plan requires it and the scheme is https. If the plan delegates, GSSAPI
    /// requests a ticket to forward. It finds the KDC through the krb5.conf of this process (`KRB5_CONFIG`, else /etc/krb5.conf) or DNS,
    /// and ignores the profile. It is no error if the server gets no ticket: `isDelegated` of the grant's exchange reports it, and
    /// ``explanation(for:challenger:)`` states the reason.
    ///
    /// - Throws: `AuthorizationError`; `notSignedIn` if no one is signed in, `notInteractive` if a ticket cannot be refreshed without a
    ///   person, `kdcUnreachable`, or `failed` with the cause.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
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

    /// The identity that would answer a request. Finds or acquires the session and the service ticket as for a token, but creates no token.
    /// Returns nil for a URL that no rule covers and for an operation that sends no token.
    ///
    /// - Throws: `AuthorizationError`, as ``beginAuthorization(with:)`` does.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        guard request.operation == .implicit, let plan = decision(for: request).plan else { return nil }
        return plan.identity(with: try await tokens.credentials.credential(for: plan, request: request))
    }

    /// Creates a grant from a cached service ticket, on the caller's thread, in about a tenth of a millisecond. Returns nil if the session
    /// or the ticket would have to be looked up, if the user's own ticket may be delegated, because that asks the KDC, and for a URL that
    /// no rule covers.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? {
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
        let mayAsk = request.isUserInterfaceEnabled && operation == .login
        let session = try await source.session(for: plan, principal: request.principal, mayAsk: mayAsk)
        switch operation {
        case .refresh: return try await refresh(session)
        case .logout:
            try await signOut(session.principal)
            return nil
        default: return session  // the session exists now, which is all that a login requires
        }
    }
}

extension KerberosExtension {
    /// A client for a realm, configured as for requests: with the profile's KDCs and the krb5.conf of the options.
    package func diagnosticClient(for realm: String) -> KerberosClient { clients.makeClient(for: realm) }

    /// Locates the controllers of a realm's Active Directory domain, by DNS and by asking them; nil if DNS lists none, or if the profile
    /// forbids to look for them. The answer is remembered for a while.
    package func domainLocation(of realm: String) async -> DomainLocation? { await clients.controllers(of: realm)?.location() }

    /// The site of this machine in a realm, without using the network: the profile's, or the one that the domain assigned to the current
    /// network the last time that it was asked.
    package func knownSite(of realm: String) async -> String? { await clients.controllers(of: realm)?.knownSite() }

    /// The client for the credential caches.
    package var cacheClient: KerberosClient { clients.local }

    /// The service principal that a session's principal requests a ticket for to answer a plan's challenge.
    ///
    /// - Parameter client: The client of the session's realm that looks up the realm of the host.
    package func service(
        of plan: AuthorizationPlan,
        for session: Session,
        client: KerberosClient
    ) async throws(KerberosError) -> Principal {
        try await tokens.tickets.service(of: plan, for: session, client: client)
    }

    /// The service ticket in a session's cache, if there is one that is usable. If the plan names no realm, a ticket of any realm matches.
    package func cachedTicket(for plan: AuthorizationPlan, session: Session) async -> Credential? {
        await tokens.tickets.cachedTicket(for: plan, session: session)
    }

    /// An extension with the same profiles and another cache, so that the user's own caches stay unchanged.
    package func copy(over cache: CredentialCacheName) -> KerberosExtension {
        var options = clients.options
        options.defaultCacheName = cache.rawValue
        options.cacheSocket = nil
        options.additionalCacheDirectory = nil
        options.prompter = nil
        options.secretStore = nil
        return KerberosExtension(options)
    }
}

extension KerberosExtension {
    /// Returns whether a KDC of a realm answers. Sends the first request of an initial authentication and never completes it.
    ///
    /// No password and no key is sent, so that no account can be locked.
    ///
    /// - Parameters:
    ///   - realm: The realm.
    ///   - name: A principal of the realm, for which the KDC sees an unfinished sign-in; nil is the realm's own `krbtgt` principal.
    ///   - deadline: How long to wait for an answer.
    package func reachesKDC(of realm: String, askingFor name: String? = nil, deadline: Duration = .seconds(4)) async -> Bool {
        do throws(KerberosError) {
            let principal = try await signIns.names.principal(name ?? "krbtgt/\(realm)@\(realm)", realm: realm)
            // A separate client does not wait for the realm's other requests, does not delay them, and sees the current network.
            let client = clients.makeClient(for: realm, isProtected: false)
            _ = try await client.initialCredential(for: principal, using: .prompter(FixedAnswer(nil)), options: .init(deadline: deadline))
            return true
        } catch {
            return ![.kdcUnreachable, .realmUnknown, .canceled, .configurationInvalid].contains(error.code)
        }
    }
}
