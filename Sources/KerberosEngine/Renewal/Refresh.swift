internal import HTTPNegotiate
public import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// Gets a session's ticket-granting ticket anew: renews it, or acquires it again, from its keytab, or where it can't be renewed by a
    /// password that is kept, or by the certificate that signed in. A certificate's PIN is asked for, and nothing else is. Service tickets
    /// that still hold are kept. A key that the KDC has refused is not sent again for five minutes.
    ///
    /// A certificate is used again that is a file, or on a card by libkrb5's own module (`PKCS11:` without one). Another module, and
    /// `ENV:`, is only where the profile or krb5.conf names the same: the rest stands in the cache alone, and libkrb5 would run it.
    ///
    /// Whoever asks at the same time gets the same ticket: the KDC is asked once. A session whose ticket somebody has replaced meanwhile is
    /// returned as it is now, unless that ticket is due for renewal too.
    ///
    /// - Parameters:
    ///   - session: whose ticket.
    ///   - prompter: who gives the PIN of a certificate that wants one; nil asks nobody.
    /// - Throws: `KerberosError`; `notInteractive` when only a person could help.
    @discardableResult
    public func refresh(_ session: Session, prompter: (any Prompter)? = nil) async throws(KerberosError) -> Session {
        await followClock()
        if let keytabSession { return try await keytabSession.acquireOnce(insteadOf: session) }
        return try await refreshFlights.run(RefreshFlight(session, mayAsk: prompter != nil)) { [self] () async throws(KerberosError) in
            try await reacquire(session, prompter: prompter)
        }
    }

    /// The work of one refresh.
    func reacquire(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        do throws(KerberosError) {
            return try await reacquireOnce(session, prompter: prompter)
        } catch {
            return try await withoutClockOffset(of: session, after: error) { session throws(KerberosError) in
                try await reacquireOnce(session, prompter: prompter)
            }
        }
    }

    private func reacquireOnce(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        if let source = session.keytabSource { return try await acquireAgain(session, using: source) }
        do throws(KerberosError) {
            return try await renew(session)
        } catch  where session.acquiredBy == .storedSecret && Self.isBeyondRenewal(error) {
            return try await acquireByStoredSecret(session)
        } catch  where session.certificateSource != nil && Self.isBeyondRenewal(error) {
            return try await acquireByCertificate(session, prompter)
        }
    }

    private func renew(_ session: Session) async throws(KerberosError) -> Session {
        guard session.isSignedIn else { throw .notSignedIn(session.principal.description) }
        guard let limit = session.renewUntil, limit > session.time(at: options.clock()), session.ticketGrantingTicket.isRenewable else {
            throw .needsPerson(session.principal)
        }
        // At the limit renewing puts no end off, and what signed in then is asked for a ticket that does.
        if session.certificateSource != nil, limit <= session.ticketExpires { throw .needsPerson(session.principal) }
        let client = clients.client(for: session.realm)
        let (contents, old) = try await current(session, client: client)
        guard !hasBeenReplaced(session, by: old, in: contents) else { return try await self.session(in: session.cache) }
        let ticket = try await client.renewedCredential(for: session.principal, in: session.cache)
        return try await replace(old, of: session, with: ticket, client: client)
    }

    func acquireAgain(
        _ session: Session,
        using source: InitialCredentialSource,
        keepsTickets: Bool = true
    ) async throws(KerberosError) -> Session {
        let client = clients.client(for: session.realm)
        let (contents, old) = try await current(session, client: client)
        guard !hasBeenReplaced(session, by: old, in: contents) else { return try await self.session(in: session.cache) }
        let options = policy.initialCredentialOptions(for: session.principal)
        let ticket = try await keyRefusals.attempt(session.principal, triesKDCAnew: keepsTickets) { () async throws(KerberosError) in
            try await initialCredential(for: session.principal, using: source, options: options).credential
        }
        return try await replace(old, of: session, with: ticket, client: client, keepsTickets: keepsTickets)
    }

    private static func isBeyondRenewal(_ error: KerberosError) -> Bool {
        [.notInteractive, .noCredentials, .notRenewable, .ticketExpired, .ticketRefused].contains(error.code)
    }

    private func acquireByStoredSecret(_ session: Session) async throws(KerberosError) -> Session {
        let client = clients.client(for: session.realm)
        let (contents, old) = try await current(session, client: client)
        guard !hasBeenReplaced(session, by: old, in: contents) else { return try await self.session(in: session.cache) }
        guard let ticket = try await storedSecretTicket(of: session.principal, triesKDCAnew: true) else {
            await unmarkStoredSecret(of: session.principal)
            throw .needsPerson(session.principal)
        }
        let expires = ticket.passwordExpires.map(SessionMark.text) ?? ""
        return try await replace(old, of: session, with: ticket, client: client, marks: [SessionMark.passwordExpires: expires])
    }

    private func acquireByCertificate(_ session: Session, _ prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        guard let identity = session.certificateSource else { throw .needsPerson(session.principal) }
        let client = clients.client(for: session.realm)
        let (contents, old) = try await current(session, client: client)
        guard !hasBeenReplaced(session, by: old, in: contents) else { return try await self.session(in: session.cache) }
        let mayBeUsed = if identity.isEmpty { true } else { try await mayUse(certificate: identity, of: session.realm) }
        guard mayBeUsed else { throw .notUsedAgain(session.principal, identity) }
        let source = InitialCredentialSource.certificate(identity.isEmpty ? nil : identity, prompter ?? GivenAnswer(nil))
        let permitted = try await permitted(source, realm: session.realm)
        let options = policy.initialCredentialOptions(for: session.principal)
        let answer: SignInTicket
        do throws(KerberosError) {
            answer = try await initialCredential(for: session.principal, using: permitted, options: options)
        } catch  where error.code == .notInteractive {
            throw .needsPIN(session.principal, identity)
        }
        let marks = [SessionMark.passwordExpires: answer.credential.passwordExpires.map(SessionMark.text) ?? ""]
        let (ticket, offset) = (answer.credential, answer.clockOffset)
        return try await replace(old, of: session, with: ticket, client: client, marks: marks, clockOffset: offset)
    }

    private func hasBeenReplaced(_ session: Session, by present: Credential, in contents: CredentialCacheContents) -> Bool {
        !present.isIdentical(to: session.ticketGrantingTicket)
            && !present.times.isDue(at: contents.time(at: options.clock()), in: session.realm, policy)
    }

    /// Reads the cache again before it is written: another program may have added tickets meanwhile, signed in anew, or signed out. What it
    /// did stands, and the new ticket is dropped.
    private func replace(
        _ old: Credential,
        of session: Session,
        with ticket: Credential,
        client: KerberosClient,
        marks: [String: String] = [:],
        clockOffset: Double? = nil,
        keepsTickets: Bool = true
    ) async throws(KerberosError) -> Session {
        let (contents, present) = try await current(session, client: client)
        guard ticket.client == session.principal else { throw .taken(session, by: ticket.client) }
        guard present.isIdentical(to: old) else { return try await self.session(in: session.cache) }
        let now = contents.time(at: options.clock())
        let kept = contents.credentials.filter {
            keepsTickets && $0.client == session.principal && $0.server != ticket.server && $0.isValid(at: now)
        }
        try await client.replace(
            session.cache,
            principal: session.principal,
            credentials: [ticket] + kept + contents.notes,
            marks: contents.marks.merging(marks) { $1 },
            clockOffset: clockOffset
        )
        return try await self.session(in: session.cache)
    }

    /// What the session's cache holds now, and its ticket-granting ticket.
    ///
    /// - Throws: `KerberosError`; `noCredentials` when the session has ended, `cacheUnusable` when somebody else's is there.
    private func current(
        _ session: Session,
        client: KerberosClient
    ) async throws(KerberosError) -> (contents: CredentialCacheContents, ticket: Credential) {
        let contents: CredentialCacheContents
        do throws(KerberosError) {
            contents = try await client.contents(of: session.cache)
        } catch  where error.code == .noCredentials {
            throw .notSignedIn(session.principal.description)
        }
        guard contents.principal == session.principal else { throw .taken(session, by: contents.principal) }
        guard let ticket = contents.ticketGrantingTicket else { throw .notSignedIn(session.principal.description) }
        return (contents, ticket)
    }
}

/// What refreshes must agree on to be one.
struct RefreshFlight: Hashable {
    let principal: Principal
    let cache: CredentialCacheName
    let mayAsk: Bool
    let keepsTickets: Bool

    init(_ session: Session, mayAsk: Bool, keepsTickets: Bool = true) {
        self.mayAsk = mayAsk
        self.keepsTickets = keepsTickets
        principal = session.principal
        cache = session.cache
    }
}

extension KerberosError {
    fileprivate static func taken(_ session: Session, by principal: Principal) -> KerberosError {
        KerberosError(
            .cacheUnusable,
            subject: session.cache.rawValue,
            message: "\(principal) has signed in there meanwhile. The new ticket of \(session.principal) was dropped."
        )
    }
}

extension TicketTimes {
    /// Whether two thirds of its life are over, or as much as the profiles say: time to get another.
    func isDue(at date: Date, in realm: String, _ policy: DecisionPolicy) -> Bool {
        let lifetime = expires.timeIntervalSince(starts)
        return date.timeIntervalSince(starts) >= policy.configurations.renewalTime(in: realm, lifetime: lifetime)
    }
}
