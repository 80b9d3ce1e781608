internal import Kerberos
internal import SignOnPolicy

/// The sessions of a user, in the credential caches that all programs share. Selects the one that answers, and renews or acquires it.
final class UserSessions: SessionSource {
    private let store: SessionStore
    private let policy: DecisionPolicy
    private let renewal: Renewal
    private let acquisition: SessionAcquisition
    private let offsets: ClockOffsets
    private let flights = SingleFlight<SessionFlight, Session>(endsWithItsWaiters: \.endsWithItsWaiters)

    init(_ signIns: SignIns, offsets: ClockOffsets, options: KerberosExtension.Options) {
        let (store, exchange) = (signIns.store, signIns.exchange)
        let backoff = SignInBackoff(clock: options.clock)
        let secrets = signIns.secrets.map { secrets in
            StoredSecretSignIn(secrets, permissions: exchange.permissions, store: store, backoff: backoff, trace: options.trace)
        }
        self.store = store
        policy = exchange.permissions.policy
        let tickets = SessionTickets(store: store, policy: policy, clients: exchange.permissions.clients)
        renewal = Renewal(tickets, exchange: exchange, secrets: secrets, backoff: backoff, offsets: offsets)
        acquisition = SessionAcquisition(signIns: signIns, secrets: secrets, backoff: backoff, store: store)
        self.offsets = offsets
    }

    /// Whether the ticket is replaced: not here, because a person may have to be asked.
    var replacesExpiredSessions: Bool { false }

    func read() async throws(KerberosError) -> SessionList { try await store.read() }

    func present(for plan: AuthorizationPlan, principal name: String?) async throws(KerberosError) -> Session? {
        let list = try await store.read()
        return list.session(of: try wanted(for: plan, named: name, in: list), orDefaultOf: plan.realm)
    }

    /// The session that answers for a plan: the caller's choice, else the profile's principal, else the realm's default.
    func session(for plan: AuthorizationPlan, principal name: String?, mayAsk: Bool) async throws(KerberosError) -> Session {
        let list = try await store.read()
        let wanted = try wanted(for: plan, named: name, in: list)
        return try await session(of: wanted, orDefaultOf: plan.realm, mayAsk: mayAsk, in: list)
    }

    func session(of principal: Principal?, orDefaultOf realm: String, in list: SessionList) async throws(KerberosError) -> Session {
        try await session(of: principal, orDefaultOf: realm, mayAsk: false, in: list)
    }

    private func session(
        of wanted: Principal?,
        orDefaultOf realm: String,
        mayAsk: Bool,
        in list: SessionList
    ) async throws(KerberosError) -> Session {
        let found = list.session(of: wanted, orDefaultOf: realm)
        if let found { await offsets.writeOffset(of: found) }
        // Several requests may find no session at once. They share one sign-in and its prompt.
        let flight = SessionFlight(realm: wanted?.realm ?? realm, principal: wanted, mayAsk: mayAsk, endsWithItsWaiters: mayAsk)
        if let found, found.isUsable(at: store.now) {
            // As long as the old ticket is valid, callers do not wait for the KDC.
            if renewal.shouldRefresh(found) {
                let flight = flight.inBackground
                flights.start(flight) { [self] () async throws(KerberosError) in try await newSession(flight, in: list) }
            }
            return found
        }
        return try await flights.run(flight) { [self] () async throws(KerberosError) in try await newSession(flight, in: list) }
    }

    /// The principal that must answer; nil leaves the choice to the realm's default. It is the caller's choice, else the profile's
    /// principal, or the default credential's if the profile's mode is `kerberosDefault`.
    private func wanted(for plan: AuthorizationPlan, named name: String?, in list: SessionList) throws(KerberosError) -> Principal? {
        if name == nil, plan.configuration.credentialUseMode == .kerberosDefault { return list.primary?.principal }
        return try (name ?? plan.configuration.principalName).map { text throws(KerberosError) in
            let known = KnownRealms([plan.realm] + policy.configurations.map(\.realm) + list.sessions.map(\.realm))
            return try known.principal(text, realm: plan.realm)
        }
    }

    /// Finds or acquires a session. Reads the caches again first if another request has signed in or out since they were read.
    private func newSession(_ flight: SessionFlight, in known: SessionList) async throws(KerberosError) -> Session {
        let list = store.hasChanged(since: known) ? try await store.read() : known
        let found = list.session(of: flight.principal, orDefaultOf: flight.realm)
        if let found, let current = try await reacquired(found) { return current }
        await offsets.follow(self)
        return try await acquisition.session(flight, replacing: found, in: list)
    }

    /// The session if it is signed in, after renewing or reacquiring it if that is due.
    private func reacquired(_ session: Session) async throws(KerberosError) -> Session? {
        guard renewal.shouldRefresh(session) else { return session.isSignedIn ? session : nil }
        // The caller continues with the stored password or a prompt.
        if session.acquiredBy == .storedSecret, !session.isSignedIn { return nil }
        do throws(KerberosError) {
            try renewal.checkPause(of: session.principal)
            await offsets.follow(self)
            return try await renewal.refresh(session, prompter: nil)
        } catch {
            if session.isSignedIn { return session }  // the old ticket is still valid
            throw error
        }
    }

    func current(_ session: Session) async throws(KerberosError) -> Session? {
        do throws(KerberosError) {
            let present = try await store.session(in: session.cache)
            return present.principal == session.principal ? present : nil
        } catch  where error.code == .noCredentials {
            return nil
        }
    }

    func refresh(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        try await renewal.refresh(session, prompter: prompter)
    }

    func reacquire(refused session: Session, from keytab: KeytabCredential) async throws(KerberosError) -> Session {
        try await renewal.reacquire(refused: session, from: keytab)
    }

    /// Ends sessions and destroys their tickets. Also removes the stored passwords of their principals, because the next request would sign
    /// in with them again.
    func end(_ sessions: [Session], _ request: SignOutRequest) async throws(KerberosError) -> SignOutResult {
        let ended = sessions.filter { request.includingOthers || $0.acquiredBy != .other }
        // An error does not prevent the other sign-outs. Passwords are removed first, so that no request signs in with them meanwhile.
        var (forgotten, failure) = await acquisition.signIns.forgetStoredSecrets(
            of: sessions.map(\.principal),
            named: request.principal,
            realm: request.realm
        )
        // A ticket that is being acquired or renewed would come back after the sign-out.
        await endAcquisitions(of: sessions, request)
        for session in ended {
            await renewal.end(session)
            do throws(KerberosError) {
                try await store.local.destroy(session.cache)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        let left = sessions.filter { !request.includingOthers && $0.acquiredBy == .other }
        return .init(ended: ended, left: left, forgotten: forgotten)
    }

    /// Cancels the requests for tickets that no person was asked for, and waits until they have ended. There may be no session yet.
    private func endAcquisitions(of sessions: [Session], _ request: SignOutRequest) async {
        let (principal, realm) = (request.principal, request.principal?.realm ?? request.realm)
        // A request that names no principal is for the default one of its realm.
        let isDefault = principal == nil || sessions.isEmpty || sessions.contains { $0.principal == principal && $0.isDefault }
        await flights.end(
            where: { flight in
                guard !flight.mayAsk, realm == nil || flight.realm == realm else { return false }
                return flight.principal.map { principal == nil || $0 == principal } ?? isDefault
            },
            with: principal.map { .notSignedIn($0) } ?? .notSignedIn(toRealm: realm)
        )
    }

    func follow(_ step: ClockWatch.Step) async {
        for session in (try? await store.read().sessions) ?? [] {
            guard await offsets.correct(session, after: step) else { continue }
            guard session.reacquisition == .key || session.isRenewable, let present = try? await store.session(in: session.cache) else {
                continue
            }
            renewal.start(present)
        }
    }

    func withoutClockOffset<Value: Sendable>(
        of session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        try await offsets.without(session, after: failure, call)
    }
}

/// Identifies requests that can share one sign-in.
struct SessionFlight: Hashable {
    /// The realm of the session.
    let realm: String
    /// The principal; nil is the realm's default.
    let principal: Principal?
    /// Whether a person may be prompted.
    let mayAsk: Bool
    /// Whether the session is needed only as long as a caller waits for it.
    var endsWithItsWaiters: Bool

    /// The flight of a renewal for which no caller waits.
    var inBackground: SessionFlight {
        var flight = self
        flight.endsWithItsWaiters = false
        return flight
    }
}
