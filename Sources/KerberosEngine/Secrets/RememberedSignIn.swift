internal import Kerberos
internal import SignOnPolicy

/// The result of a sign-in whose password was stored.
public struct RememberedSignIn: Sendable {
    /// The session.
    public let session: Session
    /// Where and for how long the password is stored, as part of a message.
    public let place: String
}

extension SignIns {
    /// Signs in, and stores the password once the KDC has accepted it.
    func signInRemembering(
        _ name: String?,
        realm: String?,
        using source: InitialCredentialSource,
        options: InitialCredentialOptions,
        cache: CredentialCacheName?
    ) async throws(KerberosError) -> RememberedSignIn {
        let principal = try await names.principal(orDefault: name, realm: realm)
        let stored = try await storeForRemembering(principal)
        let (session, password) = try await signIn(principal, using: source, options: options, cache: cache)
        guard let password else {
            throw .notKept(session.principal, "is signed in, but the sign-in used no password that could be stored.")
        }
        if session.principal.realm != principal.realm { _ = try await storeForRemembering(session.principal) }
        let place: String
        do throws(KerberosError) {
            place = try await stored.store.store(password, for: session.principal)
        } catch {
            throw .notKept(session.principal, "is signed in, but the password was not stored: \(error.message)")
        }
        try await store.local.setMark(SessionMark.acquiredBy, to: StoredSecretCredential.name, in: session.cache)
        return RememberedSignIn(session: try await store.session(in: session.cache), place: place)
    }

    /// The store for a principal's password.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow it.
    @discardableResult
    func storeForRemembering(_ principal: Principal) async throws(KerberosError) -> StoredSecrets {
        guard let secrets else { throw .notKept(principal, "no password store is available.") }
        try await secrets.checkRemembering(of: principal)
        return secrets
    }

    /// Removes the stored passwords of principals that sign out. If no principal is named, also removes those of each realm's default
    /// principal, which would sign in next.
    func forgetStoredSecrets(
        of principals: [Principal],
        named principal: Principal?,
        realm: String?
    ) async -> (removed: [Principal], failure: KerberosError?) {
        guard let secrets else { return ([], nil) }
        var all = Set(principals)
        if let principal {
            all.insert(principal)
        } else {
            let realms = realm.map { [$0] } ?? names.policy.configurations.map(\.realm)
            for realm in realms { if let own = try? await names.defaultPrincipal(realm: realm) { all.insert(own) } }
        }
        return await secrets.remove(all)
    }
}

extension KerberosError {
    fileprivate static func notKept(_ principal: Principal, _ message: String) -> KerberosError {
        KerberosError(.secretStoreUnusable, subject: principal.description, message: message)
    }
}
