internal import Kerberos
internal import SignOnPolicy

internal import struct Foundation.Date

/// A service's own session, acquired from a keytab and kept in this process's memory. It is reacquired after two thirds of its ticket's
/// lifetime, or the part that the profiles set.
actor KeytabSession: SessionSource {
    private let key: ServiceKey
    private let policy: DecisionPolicy
    private let clients: RealmClients
    private let clock: @Sendable () -> Date
    private var session: Session?
    private let flights = SingleFlight<String?, Session>()
    private let refusals: SignInBackoff

    init(
        _ source: InitialCredentialSource,
        principal: String?,
        policy: DecisionPolicy,
        clients: RealmClients,
        clock: @escaping @Sendable () -> Date
    ) {
        key = ServiceKey(source: source, name: principal)
        self.policy = policy
        self.clients = clients
        self.clock = clock
        refusals = SignInBackoff(clock: clock)
    }

    /// Whether the ticket is replaced, which needs no person. A machine that is busy or was suspended may use a ticket too late.
    nonisolated var replacesExpiredSessions: Bool { true }

    /// The present session, if there is one, for display.
    private var existing: Session? {
        guard let session, var current = Session(session.listing, now: clock()) else { return nil }
        current.isDefault = true
        return current
    }

    func read() -> SessionList {
        SessionList(sessions: existing.map { [$0] } ?? [], damagedCaches: [], occupiedCaches: [], caches: [], primaryCache: nil)
    }

    func present(for plan: AuthorizationPlan, principal name: String?) throws(KerberosError) -> Session? {
        guard let existing else { return nil }
        if let name { try existing.check(name, in: plan.realm) }
        return existing
    }

    func current(_ session: Session) -> Session? { existing }

    /// The service's session. A caller can choose no other principal.
    func session(for plan: AuthorizationPlan, principal name: String?, mayAsk: Bool) async throws(KerberosError) -> Session {
        let session = try await current()
        if let name { try session.check(name, in: plan.realm) }
        return session
    }

    func session(of principal: Principal?, orDefaultOf realm: String, in list: SessionList) async throws(KerberosError) -> Session {
        let session = try await current()
        if let principal, principal != session.principal { throw .notSignedIn(principal) }
        return session
    }

    func refresh(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        try await acquireOnce(insteadOf: session)
    }

    func reacquire(refused session: Session, from keytab: KeytabCredential) async throws(KerberosError) -> Session {
        try await acquireOnce(insteadOf: session)
    }

    /// Throws the failure: this session began in this process, which follows changes of its clock.
    nonisolated func withoutClockOffset<Value: Sendable>(
        of session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        throw failure
    }

    /// A session with a valid ticket. Acquires one if there is none.
    ///
    /// When the ticket is due, another one is acquired in the background. As long as the old ticket is valid, callers do not wait for the
    /// KDC.
    ///
    /// - Throws: `KerberosError` if no ticket can be acquired.
    private func current() async throws(KerberosError) -> Session {
        let now = clock()
        if let session, session.isUsable(at: now) {
            if session.needsRenewal(at: now, policy) { flights.start(key.name, acquisition) }
            return session
        }
        do throws(KerberosError) {
            return try await acquireOnce()
        } catch {
            if let session, session.isValid(at: clock()) { return session }
            throw error
        }
    }

    /// Acquires a session, even if the present one is still valid.
    ///
    /// - Parameter old: The session to replace. If it has already been replaced by one that is not due, that one is returned.
    private func acquireOnce(insteadOf old: Session? = nil) async throws(KerberosError) -> Session {
        if let old, let session, !session.ticketGrantingTicket.isIdentical(to: old.ticketGrantingTicket),
            !session.needsRenewal(at: clock(), policy)
        {
            return session
        }
        return try await flights.run(key.name, acquisition)
    }

    private var acquisition: @Sendable () async throws(KerberosError) -> Session {
        { [self] () async throws(KerberosError) in
            let principal = try await key.principal(clients.local, policy)
            return try await refusals.attempt(principal) { () async throws(KerberosError) in try await acquire(principal) }
        }
    }

    /// Corrects the stored offset of the KDC's clock after the machine's clock was set, and acquires another ticket in the background.
    func follow(_ step: ClockWatch.Step) async {
        guard let former = session else { return }
        let offset = step.offset(after: former.clockOffset)
        guard offset != former.clockOffset else { return }
        _ = try? await clients.local.setClockOffset(of: former, to: offset)
        guard let listing = try? await clients.local.listing(of: former.cache) else { return }
        if let session, session.ticketGrantingTicket.isIdentical(to: former.ticketGrantingTicket) {
            self.session = Session(listing, now: clock())
        }
        flights.start(key.name, acquisition)
    }

    /// Removes the session and destroys its tickets, if a sign-out covers it. The next request acquires another one. The tickets of the
    /// machine's users stay.
    func end(_ sessions: [Session], _ request: SignOutRequest) async -> SignOutResult {
        guard !sessions.isEmpty, let ended = existing else { return .init(ended: [], left: [], forgotten: []) }
        // A ticket that is being acquired would come back after the sign-out.
        await flights.end(where: { _ in true }, with: .notSignedIn(ended.principal))
        session?.cache.destroyMemory()
        session = nil
        return .init(ended: [ended], left: [], forgotten: [])
    }

    private func acquire(_ principal: Principal) async throws(KerberosError) -> Session {
        let client = clients.client(for: principal.realm)
        let options = policy.initialCredentialOptions(for: principal)
        let ticket = try await client.initialCredential(for: principal, using: key.source, options: options)
        let cache: CredentialCacheName = if let session { session.cache } else { try await client.newCacheName(type: "MEMORY") }
        let marks = SessionMark.all(for: key.source.kind, at: clock())
        try await client.replace(cache, principal: principal, credentials: [ticket], marks: marks)
        guard let acquired = Session(try await client.listing(of: cache), now: clock()) else {
            throw .notSignedIn(principal)
        }
        session = acquired
        return acquired
    }

    deinit { session?.cache.destroyMemory() }
}

extension Session {
    /// Throws unless the session is that of the principal that a caller chose.
    fileprivate func check(_ name: String, in realm: String) throws(KerberosError) {
        let named = try Principal(typed: name, defaultRealm: realm)
        let known = KnownRealms([realm, self.realm])
        if named.inRealm(known.realm(meant: named.realm)) != principal { throw .notSignedIn(name) }
    }
}

/// The key with which a service signs in, and the principal that the caller named.
private struct ServiceKey {
    /// The keytab.
    let source: InitialCredentialSource
    /// The principal's name, with or without a realm; nil is the first one of the keytab.
    let name: String?

    /// The service's principal. A name without a realm is in the default realm.
    func principal(_ local: KerberosClient, _ policy: DecisionPolicy) async throws(KerberosError) -> Principal {
        guard let name else { return try await local.firstPrincipal(inKeytab: source) }
        if let principal = try? Principal(typed: name) { return principal }
        let configured = policy.defaultConfiguration?.realm
        guard let realm = if let configured { configured } else { try await local.defaultRealm() } else { throw .noRealm(name) }
        return try Principal(typed: name, defaultRealm: realm)
    }
}
