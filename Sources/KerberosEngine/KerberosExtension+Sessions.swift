package import ActiveDirectory
package import Kerberos

extension KerberosExtension {
    /// All sessions in the credential caches. Uses no network.
    package func sessions() async throws(KerberosError) -> SessionList {
        await offsets.follow(source)
        return try await source.read()
    }

    /// Renews or reacquires a session's ticket-granting ticket.
    ///
    /// Concurrent callers share one request to the KDC. If another program has replaced the ticket in the meantime, the session is returned
    /// as it is now, unless the new ticket is due for renewal as well.
    @discardableResult
    package func refresh(_ session: Session, prompter: (any Prompter)? = nil) async throws(KerberosError) -> Session {
        await offsets.follow(source)
        return try await source.refresh(session, prompter: prompter)
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    @discardableResult
    package func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        try await signIns.store.makeDefault(principal)
    }

    /// Ends sessions, destroys their tickets, and removes the stored passwords of their principals. A ticket of theirs that is being
    /// renewed is discarded.
    @discardableResult
    package func signOut(
        _ principal: Principal? = nil,
        realm: String? = nil,
        includingOthers: Bool = false
    ) async throws(KerberosError) -> SignOutResult {
        let realm: String? = if let realm { await signIns.names.knownRealm(realm) } else { nil }
        let all = try await sessions()
        let matching = (principal.map(all.sessions(of:)) ?? all.sessions).filter { realm == nil || $0.realm == realm }
        defer { forgetServiceTickets() }
        let request = SignOutRequest(principal: principal, realm: realm, includingOthers: includingOthers)
        return try await source.end(matching, request)
    }

    /// Removes the in-memory service tickets that tokens are created from. The next token reads its ticket from the caches. For use when
    /// another process has changed the caches, so that no session key outlives its session in memory.
    package func forgetServiceTickets() { tokens.credentials.forget() }

    /// Reads the account of a session's principal in the directory of its Active Directory domain; nil if the realm is no domain, or if a
    /// sign-in would not look for its controllers.
    package func readAccount(of session: Session) async throws(DirectoryError) -> DomainDirectory.Record? {
        try await passwords.accounts.read(session)
    }
}
