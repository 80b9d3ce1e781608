public import Kerberos

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
        let realm: String? = if let realm { await knownRealm(realm) } else { nil }
        let all = try await sessions()
        let matching = (principal.map(all.sessions(of:)) ?? all.sessions).filter { realm == nil || $0.realm == realm }
        if let keytabSession {
            // A service destroys only its own tickets, not those of the machine's users.
            let ended = matching.isEmpty ? [] : await keytabSession.end()
            initiators.removeAll()
            return SignOutResult(ended: ended, left: [], forgotten: [])
        }
        let ended = matching.filter { includingOthers || $0.acquiredBy != .other }
        // An error does not prevent the other sign-outs. Passwords are removed first, so that no request signs in with them meanwhile.
        var (forgotten, failure) = await forgetStoredSecrets(of: matching.map(\.principal), named: principal, realm: realm)
        for session in ended {
            do throws(KerberosError) {
                try await sessionStore.local.destroy(session.cache)
            } catch {
                failure = failure ?? error
            }
        }
        initiators.removeAll()
        if let failure { throw failure }
        return SignOutResult(ended: ended, left: matching.filter { !includingOthers && $0.acquiredBy == .other }, forgotten: forgotten)
    }

    /// Removes the in-memory service tickets that tokens are created from. The next token reads its ticket from the caches. For use when
    /// another process has changed the caches, so that no session key outlives its session in memory.
    package func forgetServiceTickets() { initiators.removeAll() }
}
