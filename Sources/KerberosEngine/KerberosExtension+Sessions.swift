public import Kerberos

extension KerberosExtension {
    /// All sessions in the credential caches. Uses no network.
    public func sessions() async throws(KerberosError) -> SessionList {
        await offsets.follow(source)
        return try await source.read()
    }

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
        await offsets.follow(source)
        return try await source.refresh(session, prompter: prompter)
    }

    /// Makes a signed-in principal the default of its realm, and its cache the primary one of its collection.
    ///
    /// - Throws: `KerberosError`; `noCredentials` if the principal is not signed in.
    @discardableResult
    public func makeDefault(_ principal: Principal) async throws(KerberosError) -> Session {
        try await signIns.store.makeDefault(principal)
    }

    /// Ends sessions and destroys their tickets. Also removes the stored passwords of their principals (``SecretStore``), because the next
    /// request would sign in with them again. If no principal is named, removes those of the default principals as well.
    ///
    /// - Parameters:
    ///   - principal: The principal; nil is every principal.
    ///   - realm: The realm; nil is every realm.
    ///   - includingOthers: Whether to destroy tickets that other programs acquired: kinit, sssd, a login through PAM.
    @discardableResult
    public func signOut(
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
}

extension KerberosExtension {
    /// The result of a sign-out.
    public struct SignOutResult: Sendable {
        /// The sessions that ended.
        public let ended: [Session]
        /// The sessions that another program acquired, which were therefore kept.
        public let left: [Session]
        /// The principals whose stored password was removed.
        public let forgotten: [Principal]
    }
}
