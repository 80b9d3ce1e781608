public import Kerberos
internal import SignOnPolicy

extension KerberosExtension {
    /// The result of a sign-in whose password was stored.
    public struct RememberedSignIn: Sendable {
        /// The session.
        public let session: Session
        /// Where and for how long the password is stored, as part of a message.
        public let place: String
    }

    /// Signs in, and stores the password (`Options/secretStore`) once the KDC has accepted it. When a ticket expires and cannot be renewed,
    /// the next one is acquired with the stored password, without a prompt.
    ///
    /// - Throws: `KerberosError`; `policyRefused`, before any prompt, if the profile of the realm does not allow stored passwords;
    ///   `secretStoreUnusable` if the password cannot be stored, in which case the principal is signed in nevertheless.
    @discardableResult
    public func signInRemembering(
        _ name: String? = nil,
        realm: String? = nil,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions = .init(),
        cache: CredentialCacheName? = nil
    ) async throws(KerberosError) -> RememberedSignIn {
        let principal = if let name { try await principal(name, realm: realm) } else { try await defaultPrincipal(realm: realm) }
        let stored = try await storeForRemembering(principal)
        let (session, password) = try await acquire(principal.description, realm: nil, using: source, options: options, cache: cache)
        guard let password else {
            throw .notKept(session.principal, "is signed in, but the sign-in used no password that could be stored.")
        }
        let place: String
        do throws(KerberosError) {
            place = try await stored.store.store(password, for: session.principal)
        } catch {
            throw .notKept(session.principal, "is signed in, but the password was not stored: \(error.message)")
        }
        try await sessionStore.local.setMark(SessionMark.acquiredBy, to: SessionMark.storedSecret, in: session.cache)
        return RememberedSignIn(session: try await self.session(in: session.cache), place: place)
    }

    /// Checks that a principal's password may be stored, so that the caller can check before it prompts.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow it.
    package func checkRemembering(of principal: Principal) async throws(KerberosError) { _ = try await storeForRemembering(principal) }

    /// The store for a principal's password.
    private func storeForRemembering(_ principal: Principal) async throws(KerberosError) -> StoredSecrets {
        guard let storedSecrets else { throw .notKept(principal, "no password store is available.") }
        guard allowsStoredSecrets(of: principal.realm) else {
            try await storedSecrets.store.remove(principal)
            let key = policy.signInRules(of: principal.realm).allowsPassword ? "allowAutomaticLogin" : "allowPassword"
            let message = "the profile of the realm sets \(key) to false, so no password is stored. Sign in without --remember."
            throw KerberosError(.policyRefused, subject: principal.description, message: message)
        }
        return storedSecrets
    }

    /// Replaces a stored password after a change, because the KDC would refuse the old one. Removes the old one if the new one cannot be
    /// stored.
    func replaceStoredSecret(of principal: Principal, with new: Secret) async {
        guard let storedSecrets, let old = try? await storedSecrets.store.secret(for: principal) else { return }
        guard allowsStoredSecrets(of: principal.realm), (try? await storedSecrets.store.store(new, for: principal)) != nil else {
            try? await storedSecrets.refuse(old, of: principal)
            return
        }
    }

    /// Removes the stored passwords of principals that sign out. If no principal is named, also removes those of each realm's default
    /// principal, which would sign in next.
    func forgetStoredSecrets(
        of principals: [Principal],
        named principal: Principal?,
        realm: String?
    ) async -> (forgotten: [Principal], failure: KerberosError?) {
        guard let storedSecrets else { return ([], nil) }
        var all = Set(principals)
        if let principal {
            all.insert(principal)
        } else {
            let realms = realm.map { [$0] } ?? policy.configurations.map(\.realm)
            for realm in realms { if let own = try? await defaultPrincipal(realm: realm) { all.insert(own) } }
        }
        var (forgotten, failure): ([Principal], KerberosError?) = ([], nil)
        for principal in all.sorted(by: { $0.description < $1.description }) {
            do throws(KerberosError) {
                if try await storedSecrets.store.remove(principal) { forgotten.append(principal) }
            } catch {
                failure = failure ?? error
            }
        }
        return (forgotten, failure)
    }
}

extension KerberosError {
    fileprivate static func notKept(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }
}
