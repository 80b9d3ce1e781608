internal import HTTPNegotiate
public import Kerberos

extension KerberosExtension {
    /// A sign-in whose password is kept.
    public struct RememberedSignIn: Sendable {
        /// The session.
        public let session: Session
        /// Where the password is kept and until when, for a message.
        public let place: String
    }

    /// Signs in, and keeps the password (`Options/secretStore`) once the KDC has taken it: where a ticket ends and can't be renewed, the
    /// next is acquired with it and nobody is asked.
    ///
    /// - Throws: `KerberosError`; `policyRefused` where the profile of the realm forbids it, before anybody is asked for anything;
    ///   `secretStoreUnusable` where the password can't be kept: the session stands then.
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
            throw .notKept(session.principal, "is signed in, and no password was used that could be kept.")
        }
        let place: String
        do throws(KerberosError) {
            place = try await stored.store.store(password, for: session.principal)
        } catch {
            throw .notKept(session.principal, "is signed in, and the password is not kept: \(error.message)")
        }
        try await sessionStore.local.setMark(SessionMark.acquiredBy, to: SessionMark.storedSecret, in: session.cache)
        return RememberedSignIn(session: try await self.session(in: session.cache), place: place)
    }

    /// Says whether a password may be kept, before anybody is asked for one.
    ///
    /// - Throws: `KerberosError`; `policyRefused` where the profile of the realm forbids it.
    package func checkRemembering(of principal: Principal) async throws(KerberosError) { _ = try await storeForRemembering(principal) }

    /// Where a password would be kept.
    private func storeForRemembering(_ principal: Principal) async throws(KerberosError) -> StoredSecrets {
        guard let storedSecrets else { throw .notKept(principal, "nothing keeps passwords here.") }
        guard allowsStoredSecrets(of: principal.realm) else {
            try await storedSecrets.store.remove(principal)
            let key = policy.signInRules(of: principal.realm).allowsPassword ? "allowAutomaticLogin" : "allowPassword"
            let message = "the profile of the realm says \(key): false, so no password is kept. Sign in without --remember."
            throw KerberosError(.policyRefused, subject: principal.description, message: message)
        }
        return storedSecrets
    }

    /// Keeps a new password in the place of the former one, if that was kept. Else the former would be sent in vain.
    func replaceStoredSecret(of principal: Principal, with new: Secret) async {
        guard let storedSecrets, let old = try? await storedSecrets.store.secret(for: principal) else { return }
        guard allowsStoredSecrets(of: principal.realm), (try? await storedSecrets.store.store(new, for: principal)) != nil else {
            try? await storedSecrets.refuse(old, of: principal)
            return
        }
    }

    /// Forgets what is kept for those who sign out, and for whoever would sign in next where nobody is named.
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
