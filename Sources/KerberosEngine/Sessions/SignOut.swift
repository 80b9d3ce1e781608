public import Kerberos

extension KerberosExtension {
    /// What a sign-out did.
    public struct SignOutResult: Sendable {
        /// The sessions that were ended.
        public let ended: [Session]
        /// The sessions that another program acquired and that were therefore left.
        public let left: [Session]
        /// Those whose password was kept and is forgotten now.
        public let forgotten: [Principal]
    }

    /// Ends sessions and destroys their tickets. Passwords that are kept for their principals are forgotten (``SecretStore``), since the
    /// next request would sign in with them again; so are those of whoever signs in by default, where nobody is named.
    ///
    /// - Parameters:
    ///   - principal: whose; nil is everybody's.
    ///   - realm: of which realm; nil is every realm.
    ///   - includingOthers: also tickets that this project did not acquire: those of kinit, sssd, a login through PAM.
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
            // A service's tickets are its own; those of the people on the machine are not touched.
            let ended = matching.isEmpty ? [] : await keytabSession.end()
            initiators.removeAll()
            return SignOutResult(ended: ended, left: [], forgotten: [])
        }
        let ended = matching.filter { includingOthers || $0.acquiredBy != .other }
        // One that can't be destroyed keeps no other one. The passwords go first, so that nobody signs in with them meanwhile.
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

    /// Lets go of the service tickets that tokens are made from; the next token finds its own in the caches. For who learns that another
    /// process has changed them: no key outlives its session here.
    package func forgetServiceTickets() { initiators.removeAll() }
}
