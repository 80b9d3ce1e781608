internal import HTTPNegotiate
public import Kerberos
internal import Synchronization

extension KerberosExtension {
    /// Signs in with a password that is kept. Nil where there is none.
    ///
    /// - Parameter mayAsk: Whether a person is asked next: a password that is refused is no error then.
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

    /// A ticket-granting ticket by the password that is kept: asked for once, however many wait for it. Nil where no password is kept.
    ///
    /// - Parameter triesKDCAnew: whoever asks goes by its own pace where a KDC is away.
    func storedSecretTicket(of principal: Principal, triesKDCAnew: Bool) async throws(KerberosError) -> Credential? {
        guard let storedSecrets, await mayUseStoredSecret(of: principal) else { return nil }
        return try await storedSecretFlights.run(principal) { [self] () async throws(KerberosError) in
            guard let secret = await storedSecret(of: principal, in: storedSecrets) else { return nil }
            try await sessionStore.checkPlace(for: principal)
            // A refusal is no concern of the next password's: this one is not there any more.
            let result = try await keyRefusals.attempt(principal, triesKDCAnew: triesKDCAnew) {
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
        let kept = "the password that was kept in \(stored.store.name)"
        let reason = error.code == .passwordExpired ? "has expired" : "is wrong (preauthentication failed)"
        await unmarkStoredSecret(of: principal)
        do throws(KerberosError) {
            try await stored.refuse(secret, of: principal)
        } catch {
            let sentence = "\(kept) \(reason), and can't be removed: \(error.message) Sign in with: ksso login \(principal)"
            return KerberosError(.wrongPassword, subject: principal.description, message: sentence)
        }
        let advice = error.code == .passwordExpired ? "Change it with: ksso passwd" : "Sign in with: ksso login --remember"
        return error.saying("\(kept) \(reason); it was forgotten. \(advice) \(principal)")
    }

    /// What the store has, as far as it can be asked.
    private func storedSecret(of principal: Principal, in stored: StoredSecrets) async -> Secret? {
        do throws(KerberosError) {
            return try await stored.secret(for: principal)
        } catch {
            options.trace?("no password can be looked up for \(error)")
            return nil
        }
    }

    /// Whether the profiles of the realm let passwords be kept. What is there against their will is removed.
    private func mayUseStoredSecret(of principal: Principal) async -> Bool {
        if allowsStoredSecrets(of: principal.realm) { return true }
        do throws(KerberosError) {
            try await storedSecrets?.removeForbidden(principal)
        } catch {
            options.trace?("a password that the profile forbids can't be removed for \(error)")
        }
        return false
    }

    /// Whether the profiles of a realm let passwords be kept: each must, and must let passwords be used at all.
    func allowsStoredSecrets(of realm: String) -> Bool {
        let rules = policy.signInRules(of: realm)
        return rules.allowsAutomaticLogin && rules.allowsPassword
    }

    /// The principal's sessions are no longer acquired again by themselves.
    func unmarkStoredSecret(of principal: Principal) async {
        let sessions = (try? await sessionStore.read().sessions(of: principal)) ?? []
        for session in sessions where session.acquiredBy == .storedSecret {
            try? await sessionStore.local.setMark(SessionMark.acquiredBy, to: "password", in: session.cache)
        }
    }
}

extension KerberosError {
    /// Whether the KDC takes this password no more, now or ever.
    fileprivate var isRefusalOfPassword: Bool { code == .wrongPassword || code == .passwordExpired }
}

/// A store of passwords, and what this process knows of those in it that must not be sent again.
final class StoredSecrets: Sendable {
    let store: any SecretStore
    private let refused = Mutex<[Principal: Secret]>([:])
    private let forbidden = Mutex<Set<Principal>>([])

    init(_ store: any SecretStore) { self.store = store }

    /// The password that is kept, unless the KDC has refused it.
    func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        guard let secret = try await store.secret(for: principal) else { return nil }
        return refused.withLock { $0[principal] } == secret ? nil : secret
    }

    /// Forgets a password that the KDC has refused; keeps it from being sent again where the store can't forget it.
    func refuse(_ secret: Secret, of principal: Principal) async throws(KerberosError) {
        refused.withLock { $0[principal] = secret }
        // Another one may have been kept meanwhile.
        guard try await store.secret(for: principal) == secret else { return }
        try await store.remove(principal)
    }

    /// Removes what is there of a principal whose profile allows nothing to be kept; looks once.
    func removeForbidden(_ principal: Principal) async throws(KerberosError) {
        guard forbidden.withLock({ $0.insert(principal).inserted }) else { return }
        try await store.remove(principal)
    }
}

/// Keeps passwords that sign in by themselves, where a profile does not forbid it (`allowAutomaticLogin`).
///
/// What it gives is sent to the KDC once: a password that is refused is removed, and never sent again.
public protocol SecretStore: Sendable {
    /// What it is called in a message, such as `the kernel's keyring`.
    var name: String { get }

    /// The password that is kept for a principal; nil where there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where that can't be known.
    func secret(for principal: Principal) async throws(KerberosError) -> Secret?

    /// Keeps a password in the place of the one before.
    ///
    /// - Returns: Where and until when, for a message, such as `in the kernel's keyring until the machine stops`.
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where it can't be kept.
    @discardableResult
    func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String

    /// Forgets the password of a principal: ``secret(for:)`` does not give it again.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where it is still there.
    @discardableResult
    func remove(_ principal: Principal) async throws(KerberosError) -> Bool
}
