internal import Kerberos
internal import SignOnPolicy

/// Replaces the ticket-granting tickets in the caches of sessions, without losing what other programs change there in the meantime.
struct SessionTickets: Sendable {
    /// The caches.
    let store: SessionStore
    /// The profiles, which say when a ticket is due for renewal.
    let policy: DecisionPolicy
    /// The clients of the realms.
    let clients: RealmClients

    /// Replaces a session's ticket-granting ticket.
    ///
    /// If another program has replaced the ticket already, the session is returned as it is now, unless the new ticket is due for renewal
    /// as well.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - keepsTickets: Whether the session's service tickets that are still valid are kept.
    ///   - notesPasswordExpiry: Whether the new ticket states when the password expires. A renewed one does not.
    ///   - acquire: Acquires the new ticket.
    func replace(
        in session: Session,
        keepsTickets: Bool = true,
        notesPasswordExpiry: Bool = false,
        with acquire: (KerberosClient) async throws(KerberosError) -> SignInTicket
    ) async throws(KerberosError) -> Session {
        let client = clients.client(for: session.realm)
        let (contents, old) = try await current(session, client: client)
        guard !hasBeenReplaced(session, by: old, in: contents) else { return try await store.session(in: session.cache) }
        let new = try await acquire(client)
        let marks =
            notesPasswordExpiry ? [SessionMark.passwordExpires: new.credential.passwordExpires.map(SessionMark.text) ?? ""] : [:]
        return try await write(new, over: old, of: session, client: client, marks: marks, keepsTickets: keepsTickets)
    }

    private func hasBeenReplaced(_ session: Session, by present: Credential, in contents: CredentialCacheContents) -> Bool {
        !present.isIdentical(to: session.ticketGrantingTicket)
            && !present.times.needsRenewal(at: contents.time(at: store.now), in: session.realm, policy)
    }

    /// Writes a new ticket to the session's cache, unless another program has replaced the old one.
    ///
    /// Reads and writes the cache in one call, because a program may have added tickets, signed in again or signed out in the meantime. In
    /// that case its changes are kept and the new ticket is discarded. Sign-outs are calls of the same client, so that none comes between.
    private func write(
        _ new: SignInTicket,
        over old: Credential,
        of session: Session,
        client: KerberosClient,
        marks: [String: String],
        keepsTickets: Bool
    ) async throws(KerberosError) -> Session {
        let ticket = new.credential
        guard ticket.client == session.principal else { throw .taken(session, by: ticket.client) }
        let (now, offset) = (store.now, new.clockOffset ?? client.learnedClockOffset)
        do throws(KerberosError) {
            let isWritten = try await store.local.rewrite(session.cache) { contents in
                guard contents.principal == session.principal, contents.ticketGrantingTicket?.isIdentical(to: old) == true else {
                    return false
                }
                let time = contents.time(at: now)
                let kept = contents.credentials.filter {
                    keepsTickets && $0.client == session.principal && $0.server != ticket.server && $0.isValid(at: time)
                }
                contents.credentials = [ticket] + kept
                contents.marks.merge(marks) { $1 }
                contents.clockOffset = offset
                return true
            }
            if !isWritten { _ = try await current(session, client: client) }
            return try await store.session(in: session.cache)
        } catch  where error.code == .noCredentials {
            throw .notSignedIn(session.principal)
        }
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
            throw .notSignedIn(session.principal)
        }
        guard contents.principal == session.principal else { throw .taken(session, by: contents.principal) }
        guard let ticket = contents.ticketGrantingTicket else { throw .notSignedIn(session.principal) }
        return (contents, ticket)
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
