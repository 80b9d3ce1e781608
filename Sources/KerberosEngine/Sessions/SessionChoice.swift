internal import HTTPNegotiate
public import Kerberos

extension KerberosExtension {
    /// All sessions in the credential caches. Uses no network.
    public func sessions() async throws(KerberosError) -> SessionList {
        await followClock()
        if let keytabSession {
            return SessionList(sessions: await keytabSession.existing(), damagedCaches: [], occupiedCaches: [], primaryCache: nil)
        }
        return try await sessionStore.read()
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    ///
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    @discardableResult
    public func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        guard let session = try await sessionStore.read().session(realm: principal.realm, principal: principal), session.isSignedIn else {
            throw .notSignedIn(principal.description)
        }
        try await sessionStore.local.setMark(SessionMark.chosenAt, to: SessionMark.text(options.clock()), in: session.cache)
        try? await sessionStore.local.makePrimary(session.cache)  // fails for a single FILE cache, which has no collection
        initiators.removeAll()
        return try await sessionStore.read().session(realm: principal.realm, principal: principal) ?? session
    }

    /// The session that answers for a plan: the caller's choice, else the profile's principal, else the realm's default.
    func session(for plan: AuthorizationPlan, principal name: String?, mayAsk: Bool) async throws(KerberosError) -> Session {
        if let keytabSession {
            let session = try await keytabSession.current()
            if let name {
                let named = try Principal(typed: name, defaultRealm: plan.realm)
                let known = KnownRealms([plan.realm, session.realm])
                if named.inRealm(known.realm(meant: named.realm)) != session.principal { throw .notSignedIn(name) }
            }
            return session
        }
        let list = try await sessionStore.read()
        let wanted = try wanted(for: plan, named: name, in: list)
        let found = list.session(realm: wanted?.realm ?? plan.realm, principal: wanted)
        // Several requests may find no session at once. They share one sign-in and its prompt.
        var flight = SessionFlight(realm: wanted?.realm ?? plan.realm, principal: wanted, mayAsk: mayAsk, endsWithItsWaiters: false)
        if let found, found.isUsable(at: options.clock()) {
            // As long as the old ticket is valid, callers do not wait for the KDC.
            if needsRenewal(found) {
                sessionFlights.start(flight) { [self, flight] () async throws(KerberosError) in try await newSession(flight) }
            }
            return found
        }
        flight.endsWithItsWaiters = mayAsk
        return try await sessionFlights.run(flight) { [self, flight] () async throws(KerberosError) in try await newSession(flight) }
    }

    /// The principal that must answer; nil leaves the choice to the realm's default. It is the caller's choice, else the profile's
    /// principal, or the default credential's if the profile's mode is `kerberosDefault`.
    func wanted(for plan: AuthorizationPlan, named name: String?, in list: SessionList) throws(KerberosError) -> Principal? {
        if name == nil, plan.configuration.credentialUseMode == .kerberosDefault { return list.primary?.principal }
        return try (name ?? plan.configuration.principalName).map { text throws(KerberosError) in
            let principal = try Principal(typed: text, defaultRealm: plan.realm)
            let known = KnownRealms([plan.realm] + policy.configurations.map(\.realm) + list.sessions.map(\.realm))
            return principal.inRealm(known.realm(meant: principal.realm))
        }
    }

    /// Finds or acquires a session. Reads the caches again first, because another request may have signed in. Then renews or reacquires the
    /// existing session, and otherwise tries the client keytab, the stored password and a prompt, in this order.
    private func newSession(_ flight: SessionFlight) async throws(KerberosError) -> Session {
        let wanted = flight.principal
        let list = try await sessionStore.read()
        let found = list.session(realm: wanted?.realm ?? flight.realm, principal: wanted)
        if let found, let current = try await reacquired(found) { return current }
        if let session = try await sessionFromClientKeytab(wanted, realm: flight.realm) { return session }
        let mayAsk = flight.mayAsk && options.prompter != nil
        if let session = try await sessionFromStoredSecret(wanted ?? found?.principal, realm: flight.realm, mayAsk: mayAsk) {
            return session
        }
        if mayAsk {
            return try await sessionByAsking(wanted ?? found?.principal, realm: flight.realm)
        }
        if flight.mayAsk { options.nobodyToAsk() }
        let whom = (wanted ?? found?.principal)?.description ?? flight.realm
        throw try await sessionStore.damageOfDefaultCache(list) ?? .notSignedIn(whom)
    }

    /// Signs in with the client keytab if it has the principal's key, as GSSAPI does when no one is signed in. Returns nil if there is no
    /// such key.
    private func sessionFromClientKeytab(_ wanted: Principal?, realm: String) async throws(KerberosError) -> Session? {
        do throws(KerberosError) {
            let principal = if let wanted { wanted } else { try await clients.local.firstPrincipal(inKeytab: .clientKeytab) }
            guard principal.realm == realm else { return nil }
            return try await keytabBackoff.attempt(principal) { () async throws(KerberosError) in
                try await signInUnattended(principal.description, using: .clientKeytab)
            }
        } catch  where [.keytabUnusable, .keytabEntryMissing].contains(error.code) {
            return nil
        }
    }

    /// The session if it is signed in, after renewing or reacquiring it if that is due.
    private func reacquired(_ session: Session) async throws(KerberosError) -> Session? {
        guard needsRenewal(session) else { return session.isSignedIn ? session : nil }
        // The caller continues with the stored password or a prompt.
        if session.acquiredBy == .storedSecret, !session.isSignedIn { return nil }
        do throws(KerberosError) {
            try keytabBackoff.check(session.principal)
            return try await refresh(session)
        } catch {
            if session.isSignedIn { return session }  // the old ticket is still valid
            throw error
        }
    }

    /// Whether a request should renew or reacquire the ticket now. If an agent monitors the realm's tickets, it renews those that came from
    /// neither a keytab nor a stored password.
    private func needsRenewal(_ session: Session) -> Bool {
        let isOurs = session.reacquisition == .key || session.isRenewable && !policy.configurations.monitorsCredentials(of: session.realm)
        return isOurs && session.needsRenewal(at: options.clock(), policy)
    }
}

/// Identifies requests that can share one sign-in.
struct SessionFlight: Hashable {
    let realm: String
    let principal: Principal?
    let mayAsk: Bool
    /// Whether no one needs the session unless a caller waits for it. A renewal in the background continues.
    var endsWithItsWaiters: Bool
}
