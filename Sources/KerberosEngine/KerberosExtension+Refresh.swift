public import Kerberos

internal import struct Foundation.Date

extension KerberosExtension {
    /// Gets a session's ticket-granting ticket anew without asking anybody: renews it, or acquires it again from its keytab. Service
    /// tickets that still hold are kept.
    ///
    /// - Throws: `KerberosError`; `notInteractive` when only a person could help.
    @discardableResult
    public func refresh(_ session: Session) async throws(KerberosError) -> Session {
        if let keytabSession { return try await keytabSession.acquireOnce() }
        if let source = session.keytabSource { return try await acquireAgain(session, using: source) }
        guard session.isSignedIn else { throw .notSignedIn(session.principal.description) }
        guard let limit = session.renewUntil, limit > options.clock(), session.ticketGrantingTicket.isRenewable else {
            throw .needsPerson(session.principal)
        }
        let client = clients.client(for: session.realm)
        let ticket = try await client.renewedCredential(for: session.principal, in: session.cache)
        return try await replace(session, with: ticket, client: client)
    }

    func acquireAgain(_ session: Session, using source: InitialCredentialSource) async throws(KerberosError) -> Session {
        let client = clients.client(for: session.realm)
        let options = policy.initialCredentialOptions(for: session.principal)
        let ticket = try await client.initialCredential(for: session.principal, using: source, options: options)
        return try await replace(session, with: ticket, client: client)
    }

    /// Reads the cache again before it is written: another program may have added tickets meanwhile.
    private func replace(
        _ session: Session,
        with ticket: Credential,
        client: KerberosClient
    ) async throws(KerberosError) -> Session {
        let contents = try await client.contents(of: session.cache)
        guard contents.principal == session.principal, ticket.client == session.principal else {
            throw KerberosError(
                .cacheUnusable,
                subject: session.cache.rawValue,
                message: "\(contents.principal) has signed in there meanwhile. The new ticket of \(session.principal) was dropped."
            )
        }
        let now = options.clock()
        let kept = contents.credentials.filter { $0.client == session.principal && $0.server != ticket.server && $0.isValid(at: now) }
        try await client.replace(
            session.cache,
            principal: session.principal,
            credentials: [ticket] + kept + contents.notes,
            marks: contents.marks
        )
        return try await self.session(in: session.cache)
    }
}

extension TicketTimes {
    /// Whether two thirds of its life are over: time to get another.
    func isDue(at date: Date) -> Bool {
        date.timeIntervalSince(starts) * 3 >= expires.timeIntervalSince(starts) * 2
    }
}
