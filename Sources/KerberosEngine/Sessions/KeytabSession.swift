internal import Kerberos
internal import SignOnPolicy

internal import struct Foundation.Date

/// A service's own session, acquired from a keytab and kept in this process's memory. It is reacquired after two thirds of its ticket's
/// lifetime, or the part that the profiles set.
actor KeytabSession {
    private let source: InitialCredentialSource
    private let name: String?
    private let policy: DecisionPolicy
    private let clients: RealmClients
    private let clock: @Sendable () -> Date
    private var session: Session?
    private let flights = SingleFlight<String?, Session>()
    private let refusals: KeytabBackoff

    init(
        _ source: InitialCredentialSource,
        principal: String?,
        policy: DecisionPolicy,
        clients: RealmClients,
        clock: @escaping @Sendable () -> Date
    ) {
        self.source = source
        name = principal
        self.policy = policy
        self.clients = clients
        self.clock = clock
        refusals = KeytabBackoff(clock: clock)
    }

    /// The present session, if there is one, for display. Acquires nothing.
    func existing() -> [Session] {
        guard let session, var current = Session(session.listing, now: clock()) else { return [] }
        current.isDefault = true
        return [current]
    }

    /// A session with a valid ticket. Acquires one if there is none.
    ///
    /// When the ticket is due, another one is acquired in the background. As long as the old ticket is valid, callers do not wait for the
    /// KDC.
    ///
    /// - Throws: `KerberosError` if no ticket can be acquired.
    func current() async throws(KerberosError) -> Session {
        let now = clock()
        if let session, session.isUsable(at: now) {
            if session.needsRenewal(at: now, policy) { flights.start(name, acquisition) }
            return session
        }
        do throws(KerberosError) {
            return try await acquireOnce()
        } catch {
            if let session, session.holds(at: clock()) { return session }
            throw error
        }
    }

    /// Acquires a session, even if the present one is still valid.
    ///
    /// - Parameter old: The session to replace. If it has already been replaced by one that is not due, that one is returned.
    func acquireOnce(insteadOf old: Session? = nil) async throws(KerberosError) -> Session {
        if let old, let session, !session.ticketGrantingTicket.isIdentical(to: old.ticketGrantingTicket),
            !session.needsRenewal(at: clock(), policy)
        {
            return session
        }
        return try await flights.run(name, acquisition)
    }

    private var acquisition: @Sendable () async throws(KerberosError) -> Session {
        { [self] () async throws(KerberosError) in
            let principal = try await principal()
            return try await refusals.attempt(principal) { () async throws(KerberosError) in try await acquire(principal) }
        }
    }

    /// Corrects the stored offset of the KDC's clock after the machine's clock was set, and acquires another ticket in the background.
    func follow(_ step: ClockWatch.Step) async {
        guard let former = session else { return }
        let offset = step.offset(after: former.clockOffset)
        guard offset != former.clockOffset else { return }
        try? await clients.local.setClockOffset(of: former.cache, to: offset)
        guard let listing = try? await clients.local.listing(of: former.cache) else { return }
        if let session, session.ticketGrantingTicket.isIdentical(to: former.ticketGrantingTicket) {
            self.session = Session(listing, now: clock())
        }
        flights.start(name, acquisition)
    }

    /// Removes the session and destroys its tickets. The next request acquires another one.
    func end() -> [Session] {
        let ended = existing()
        session = nil
        ended.forEach { $0.cache.destroyMemory() }
        return ended
    }

    private func acquire(_ principal: Principal) async throws(KerberosError) -> Session {
        let client = clients.client(for: principal.realm)
        let options = policy.initialCredentialOptions(for: principal)
        let ticket = try await client.initialCredential(for: principal, using: source, options: options)
        let cache: CredentialCacheName = if let session { session.cache } else { try await client.newCacheName(type: "MEMORY") }
        let marks = SessionMark.all(for: source, at: clock())
        try await client.replace(cache, principal: principal, credentials: [ticket], marks: marks)
        guard let acquired = Session(try await client.listing(of: cache), now: clock()) else {
            throw .notSignedIn(principal.description)
        }
        session = acquired
        return acquired
    }

    private func principal() async throws(KerberosError) -> Principal {
        guard let name else { return try await clients.local.firstPrincipal(inKeytab: source) }
        if let principal = try? Principal(typed: name) { return principal }
        let configured = policy.defaultConfiguration?.realm
        guard let realm = if let configured { configured } else { try await clients.local.defaultRealm() } else { throw .noRealm(name) }
        return try Principal(typed: name, defaultRealm: realm)
    }

    deinit { session?.cache.destroyMemory() }
}
