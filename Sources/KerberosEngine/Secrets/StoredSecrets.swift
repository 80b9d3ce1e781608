public import Kerberos
internal import SignOnPolicy
internal import Synchronization

extension KerberosExtension {
    /// Signs in with a stored password. Returns nil if there is none.
    ///
    /// - Parameter mayAsk: Whether the caller prompts for a password next. If so, a refused password returns nil instead of throwing.
    func sessionFromStoredSecret(_ name: Principal?, realm: String, mayAsk: Bool) async throws(KerberosError) -> Session? {
        guard storedSecrets != nil else { return nil }
        let principal: Principal
        if let name { principal = name } else if let own = try? await defaultPrincipal(realm: realm) { principal = own } else { return nil }
        do throws(KerberosError) {
            guard let ticket = try await storedSecretTicket(of: principal, triesKDCAnew: false) else { return nil }
            let answer = SignInTicket(ticket)
            let marks = [SessionMark.chosenAt: SessionMark.text(options.clock()), SessionMark.acquiredBy: SessionMark.storedSecret]
                .merging(SessionMark.requestedName(principal, of: answer)) { $1 }
            return try await keep(answer, marks: marks, isUnattended: true)
        } catch  where mayAsk && error.isRefusalOfPassword {
            return nil
        }
    }

    /// Requests a ticket-granting ticket with the stored password. Concurrent callers share one request. Returns nil if no password is
    /// stored.
    ///
    /// - Parameter triesKDCAnew: Whether to ignore the pause after a KDC did not answer, because the caller paces its own retries.
    func storedSecretTicket(of principal: Principal, triesKDCAnew: Bool) async throws(KerberosError) -> Credential? {
        guard let storedSecrets, await mayUseStoredSecret(of: principal) else { return nil }
        return try await storedSecretFlights.run(principal) { [self] () async throws(KerberosError) in
            guard let secret = await storedSecret(of: principal, in: storedSecrets) else { return nil }
            try await sessionStore.checkPlace(for: principal)
            // The refusal of a password is returned, not thrown: that password has been removed, so its refusal must not delay the next
            // one.
            let result = try await keytabBackoff.attempt(principal, triesKDCAnew: triesKDCAnew) {
                () async throws(KerberosError) -> Result<Credential, KerberosError> in
                do throws(KerberosError) {
                    return .success(try await sendStored(secret, of: principal))
                } catch  where error.isRefusalOfPassword {
                    return .failure(await forgetRefused(secret, of: principal, in: storedSecrets, error))
                }
            }
            return try result.get()
        }
    }

    private func sendStored(_ secret: Secret, of principal: Principal) async throws(KerberosError) -> Credential {
        let options = policy.initialCredentialOptions(for: principal)
        return try await clients.client(for: principal.realm).initialCredential(for: principal, using: .password(secret), options: options)
    }

    private func forgetRefused(
        _ secret: Secret,
        of principal: Principal,
        in stored: StoredSecrets,
        _ error: KerberosError
    ) async -> KerberosError {
        let kept = "the password stored in \(stored.store.name)"
        let reason = error.code == .passwordExpired ? "has expired" : "is wrong (preauthentication failed)"
        await unmarkStoredSecret(of: principal)
        do throws(KerberosError) {
            try await stored.refuse(secret, of: principal)
        } catch {
            let sentence = "\(kept) \(reason) and cannot be removed: \(error.message) Sign in with: ksso login \(principal)"
            return KerberosError(.wrongPassword, subject: principal.description, message: sentence)
        }
        let advice = error.code == .passwordExpired ? "Change it with: ksso passwd" : "Sign in with: ksso login --remember"
        return error.saying("\(kept) \(reason), and was removed. \(advice) \(principal)")
    }

    /// The stored password; nil if there is none, or if the store cannot be read.
    private func storedSecret(of principal: Principal, in stored: StoredSecrets) async -> Secret? {
        do throws(KerberosError) {
            return try await stored.secret(for: principal)
        } catch {
            options.trace?("no password can be looked up for \(error)")
            return nil
        }
    }

    /// Whether the profiles of the principal's realm allow stored passwords. If they do not, removes the principal's stored password.
    private func mayUseStoredSecret(of principal: Principal) async -> Bool {
        if allowsStoredSecrets(of: principal.realm) { return true }
        do throws(KerberosError) {
            try await storedSecrets?.removeForbidden(principal)
        } catch {
            options.trace?("a password that the profile forbids cannot be removed for \(error)")
        }
        return false
    }

    /// Whether the profiles of a realm allow stored passwords. Each of them must allow both automatic login and passwords.
    func allowsStoredSecrets(of realm: String) -> Bool {
        let rules = policy.signInRules(of: realm)
        return rules.allowsAutomaticLogin && rules.allowsPassword
    }

    /// Marks the principal's sessions as acquired with a typed password, so that they are no longer reacquired automatically.
    func unmarkStoredSecret(of principal: Principal) async {
        let sessions = (try? await sessionStore.read().sessions(of: principal)) ?? []
        for session in sessions where session.acquiredBy == .storedSecret {
            try? await sessionStore.local.setMark(SessionMark.acquiredBy, to: "password", in: session.cache)
        }
    }
}

extension KerberosError {
    /// Whether the KDC refused the password as wrong or expired.
    fileprivate var isRefusalOfPassword: Bool { code == .wrongPassword || code == .passwordExpired }
}

/// A store of passwords, and which of them this process must not send again.
final class StoredSecrets: Sendable {
    let store: any SecretStore
    private let refused = Mutex<[Principal: Secret]>([:])
    private let forbidden = Mutex<Set<Principal>>([])

    init(_ store: any SecretStore) { self.store = store }

    /// The stored password, unless the KDC has refused it.
    func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        guard let secret = try await store.secret(for: principal) else { return nil }
        return refused.withLock { $0[principal] } == secret ? nil : secret
    }

    /// Removes a password that the KDC refused. Even if the store cannot remove it, this process does not send it again.
    func refuse(_ secret: Secret, of principal: Principal) async throws(KerberosError) {
        refused.withLock { $0[principal] = secret }
        // A new password may have been stored in the meantime.
        guard try await store.secret(for: principal) == secret else { return }
        try await store.remove(principal)
    }

    /// Removes the stored password of a principal whose profile does not allow one. Does so once per principal.
    func removeForbidden(_ principal: Principal) async throws(KerberosError) {
        guard forbidden.withLock({ $0.insert(principal).inserted }) else { return }
        try await store.remove(principal)
    }
}

/// Stores passwords for automatic sign-in, unless a profile forbids it (`allowAutomaticLogin`).
///
/// If the KDC refuses a password, it is removed and never sent again.
public protocol SecretStore: Sendable {
    /// The store's name in messages, such as `the kernel's keyring`.
    var name: String { get }

    /// Returns the stored password of a principal, or nil if there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the store cannot be read.
    func secret(for principal: Principal) async throws(KerberosError) -> Secret?

    /// Stores a principal's password and replaces the previous one.
    ///
    /// - Returns: Where and for how long it is stored, as part of a message, such as `in the kernel's keyring until the machine stops`.
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the password cannot be stored.
    @discardableResult
    func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String

    /// Removes the password of a principal: ``secret(for:)`` no longer returns it.
    ///
    /// - Returns: Whether a password was stored.
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the password could not be removed.
    @discardableResult
    func remove(_ principal: Principal) async throws(KerberosError) -> Bool
}
