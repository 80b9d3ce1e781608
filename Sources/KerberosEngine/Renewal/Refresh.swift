public import Kerberos
internal import SignOnPolicy

internal import struct Foundation.Date

extension KerberosExtension {
    /// Renews or reacquires a session's ticket-granting ticket.
    ///
    /// A ticket from a keytab is reacquired with that keytab. Any other ticket is renewed. If it cannot be renewed, it is reacquired with
    /// the stored password or the certificate of the sign-in. The only prompt is for a certificate's PIN. Service tickets that are still
    /// valid are kept. A key that the KDC refused is not sent again for five minutes.
    ///
    /// A certificate is reused if it is a file, or is on a card that libkrb5's own module reads (`PKCS11:` without a module). Another
    /// module or `ENV:` is used only if the profile or krb5.conf names the same one: otherwise the cache alone would name it, and libkrb5
    /// would run it.
    ///
    /// Concurrent callers share one request to the KDC. If another program has replaced the ticket in the meantime, the session is returned
    /// as it is now, unless the new ticket is due for renewal as well.
    ///
    /// - Parameters:
    ///   - session: The session to refresh.
    ///   - prompter: Asks for the PIN of a certificate that requires one; nil asks no one.
    /// - Throws: `KerberosError`; `notInteractive` if the ticket cannot be acquired without a person.
    @discardableResult
    public func refresh(_ session: Session, prompter: (any Prompter)? = nil) async throws(KerberosError) -> Session {
        await followClock()
        if let keytabSession { return try await keytabSession.acquireOnce(insteadOf: session) }
        return try await refreshFlights.run(RefreshFlight(session, mayAsk: prompter != nil)) { [self] () async throws(KerberosError) in
            try await reacquire(session, prompter: prompter)
        }
    }

    /// Performs one refresh.
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
        // When the ticket expires at its renewable limit, renewing it does not extend it. The certificate can acquire one that lasts
        // longer.
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
        let ticket = try await keytabBackoff.attempt(session.principal, triesKDCAnew: keepsTickets) { () async throws(KerberosError) in
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
            && !present.times.needsRenewal(at: contents.time(at: options.clock()), in: session.realm, policy)
    }

    /// Writes a new ticket to the session's cache, unless another program has replaced the old one.
    ///
    /// Reads the cache again first, because another program may have added tickets, signed in again or signed out in the meantime. In that
    /// case its changes are kept and the new ticket is discarded.
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

    /// The current contents of the session's cache, and its ticket-granting ticket.
    ///
    /// - Throws: `KerberosError`; `noCredentials` if the session has ended, `cacheUnusable` if the cache belongs to another principal now.
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

/// Identifies refreshes that can share one request.
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
            message: "\(principal) has signed in to this cache in the meantime. The new ticket of \(session.principal) was discarded."
        )
    }
}

extension TicketTimes {
    /// Whether two thirds of the ticket's lifetime, or the part that the profiles set, have passed, so that it should be renewed.
    func needsRenewal(at date: Date, in realm: String, _ policy: DecisionPolicy) -> Bool {
        let lifetime = expires.timeIntervalSince(starts)
        return date.timeIntervalSince(starts) >= policy.configurations.renewalTime(in: realm, lifetime: lifetime)
    }
}
