internal import Kerberos
internal import SignOnPolicy

/// Renews and reacquires the ticket-granting tickets of a user's sessions. Concurrent callers share one request to the KDC.
final class Renewal: Sendable {
    /// Replaces the tickets in the sessions' caches.
    let tickets: SessionTickets
    /// Requests tickets with the credentials of the sign-ins.
    let exchange: InitialExchange
    /// Requests tickets with stored passwords; nil if there is no store.
    let secrets: StoredSecretSignIn?
    /// The pauses after refused keys.
    let backoff: SignInBackoff
    private let offsets: ClockOffsets
    private let flights = SingleFlight<RefreshFlight, Session>(endsWithItsWaiters: true)

    init(
        _ tickets: SessionTickets,
        exchange: InitialExchange,
        secrets: StoredSecretSignIn?,
        backoff: SignInBackoff,
        offsets: ClockOffsets
    ) {
        self.tickets = tickets
        self.exchange = exchange
        self.secrets = secrets
        self.backoff = backoff
        self.offsets = offsets
    }

    /// Whether a request should renew or reacquire the ticket now. If an agent monitors the realm's tickets, it renews those that came from
    /// neither a keytab nor a stored password.
    func shouldRefresh(_ session: Session) -> Bool {
        let policy = tickets.policy
        let isOurs = session.reacquisition == .key || session.isRenewable && !policy.configurations.monitorsCredentials(of: session.realm)
        return isOurs && session.needsRenewal(at: tickets.store.now, policy)
    }

    /// Throws the error of the principal's last sign-in with a key while its pause lasts.
    func checkPause(of principal: Principal) throws(KerberosError) { try backoff.check(principal) }

    /// Renews or reacquires a session's ticket-granting ticket.
    ///
    /// - Parameter prompter: Asks for the PIN of a certificate that requires one; nil asks no one.
    /// - Throws: `KerberosError`; `notInteractive` if the ticket cannot be acquired without a person.
    func refresh(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        try await flights.run(RefreshFlight(session, mayAsk: prompter != nil)) { [self] () async throws(KerberosError) in
            try await reacquire(session, prompter: prompter)
        }
    }

    /// Renews or reacquires a session's ticket-granting ticket in the background.
    func start(_ session: Session) {
        flights.start(RefreshFlight(session, mayAsk: false)) { [self] () async throws(KerberosError) in
            try await reacquire(session, prompter: nil)
        }
    }

    /// Reacquires a ticket-granting ticket that a KDC cannot decrypt. Drops service tickets and cross-realm tickets, because those may be
    /// the refused ones.
    func reacquire(refused session: Session, from keytab: KeytabCredential) async throws(KerberosError) -> Session {
        try await flights.run(RefreshFlight(session, mayAsk: false, keepsTickets: false)) { [self] () async throws(KerberosError) in
            try await keytab.reacquire(session, with: self, keepsTickets: false)
        }
    }

    /// Cancels the refreshes of a session, and waits until they have ended. Their callers get `noCredentials`.
    func end(_ session: Session) async {
        await flights.end(
            where: { $0.principal == session.principal && $0.cache == session.cache },
            with: .notSignedIn(session.principal)
        )
    }

    /// Performs one refresh.
    private func reacquire(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        await offsets.writeOffset(of: session)
        do throws(KerberosError) {
            return try await reacquireOnce(session, prompter: prompter)
        } catch {
            _ = try await offsets.without(session, after: error) { copy throws(KerberosError) in
                try await reacquireOnce(copy, prompter: prompter)
            }
            return try await tickets.store.session(in: session.cache)
        }
    }

    private func reacquireOnce(_ session: Session, prompter: (any Prompter)?) async throws(KerberosError) -> Session {
        guard let kind = session.acquiredBy.kind else { return try await renew(session) }
        return try await kind.reacquire(session, with: self, prompter: prompter)
    }

    /// Renews a session's ticket-granting ticket.
    ///
    /// - Throws: `KerberosError`; `notInteractive` if the ticket is not renewable, or no longer.
    func renew(_ session: Session) async throws(KerberosError) -> Session {
        guard session.isSignedIn else { throw .expired(session.principal) }
        guard let limit = session.renewUntil, limit > tickets.store.now, session.ticketGrantingTicket.isRenewable else {
            throw .needsPerson(session.principal)
        }
        return try await tickets.replace(in: session) { client throws(KerberosError) in
            SignInTicket(try await client.renewedCredential(for: session.principal, in: session.cache))
        }
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
    /// Whether the ticket cannot be renewed, so that it has to be reacquired.
    var isBeyondRenewal: Bool { [.notInteractive, .noCredentials, .notRenewable, .ticketExpired, .ticketRefused].contains(code) }
}
