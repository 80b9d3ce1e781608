internal import HTTPNegotiate
public import Kerberos

extension KerberosExtension {
    /// All sessions in the credential caches; no network.
    public func sessions() async throws(KerberosError) -> SessionList {
        await followClock()
        if let keytabSession {
            return SessionList(sessions: await keytabSession.existing(), damagedCaches: [], occupiedCaches: [], primaryCache: nil)
        }
        return try await sessionStore.read()
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    ///
    /// - Throws: `KerberosError`; `noCredentials` when the principal is not signed in.
    @discardableResult
    public func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        guard let session = try await sessionStore.read().session(realm: principal.realm, principal: principal), session.isSignedIn else {
            throw .notSignedIn(principal.description)
        }
        try await sessionStore.local.setMark(SessionMark.chosenAt, to: SessionMark.text(options.clock()), in: session.cache)
        try? await sessionStore.local.makePrimary(session.cache)  // a single FILE cache has nothing to switch
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
        // Several services may find nobody signed in at once: one sign-in, one question.
        let flight = SessionFlight(realm: wanted?.realm ?? plan.realm, principal: wanted, mayAsk: mayAsk)
        if let found, found.isUsable(at: options.clock()) {
            // As long as the old ticket holds, nobody waits for the KDC.
            if isDue(found) { sessionFlights.start(flight) { [self] () async throws(KerberosError) in try await newSession(flight) } }
            return found
        }
        let flights = mayAsk ? askingFlights : sessionFlights
        return try await flights.run(flight) { [self] () async throws(KerberosError) in try await newSession(flight) }
    }

    /// Who is to answer: the caller's choice, else the profile's principal, or the default credential's where the profile leaves it to
    /// that.
    func wanted(for plan: AuthorizationPlan, named name: String?, in list: SessionList) throws(KerberosError) -> Principal? {
        if name == nil, plan.configuration.credentialUseMode == .kerberosDefault { return list.primary?.principal }
        return try (name ?? plan.configuration.principalName).map { text throws(KerberosError) in
            let principal = try Principal(typed: text, defaultRealm: plan.realm)
            let known = KnownRealms([plan.realm] + policy.configurations.map(\.realm) + list.sessions.map(\.realm))
            return principal.inRealm(known.realm(meant: principal.realm))
        }
    }

    /// Looks again, since another request may have signed in meanwhile; then tries the session's keytab, the client keytab, a password that
    /// is kept, a person.
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

    /// GSSAPI's own habit: where nobody is signed in and a client keytab has the key, it signs in. Nil where there is no such key.
    private func sessionFromClientKeytab(_ wanted: Principal?, realm: String) async throws(KerberosError) -> Session? {
        do throws(KerberosError) {
            let principal = if let wanted { wanted } else { try await clients.local.firstPrincipal(inKeytab: .clientKeytab) }
            guard principal.realm == realm else { return nil }
            return try await keyRefusals.attempt(principal) { () async throws(KerberosError) in
                try await signInUnattended(principal.description, using: .clientKeytab)
            }
        } catch  where [.keytabUnusable, .keytabEntryMissing].contains(error.code) {
            return nil
        }
    }

    /// The session if it is signed in; one that can be is acquired again when two thirds of its life are over, or as the profile says.
    private func reacquired(_ session: Session) async throws(KerberosError) -> Session? {
        guard isDue(session) else { return session.isSignedIn ? session : nil }
        // What comes after this gets another, by the password that is kept or a person.
        if session.acquiredBy == .storedSecret, !session.isSignedIn { return nil }
        do throws(KerberosError) {
            try keyRefusals.check(session.principal)
            return try await refresh(session)
        } catch {
            if session.isSignedIn { return session }  // the old ticket still serves
            throw error
        }
    }

    /// What neither a keytab nor a kept password has got is renewed by an agent, if it looks after the realm's tickets; else when a request
    /// comes that needs them.
    private func isDue(_ session: Session) -> Bool {
        let isOurs = session.reacquisition == .key || session.isRenewable && !policy.configurations.monitorsCredentials(of: session.realm)
        return isOurs && session.isDue(at: options.clock(), policy)
    }
}

/// What requests must agree on to share one sign-in.
struct SessionFlight: Hashable {
    let realm: String
    let principal: Principal?
    let mayAsk: Bool
}
