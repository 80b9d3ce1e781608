internal import Kerberos

/// Requests tickets with stored passwords. A refused password is removed and not sent again.
final class StoredSecretSignIn: Sendable {
    private let secrets: StoredSecrets
    private let permissions: SignInPermissions
    private let store: SessionStore
    private let backoff: SignInBackoff
    private let trace: (@Sendable (String) -> Void)?
    /// A flight continues when its callers stop waiting, because a wrong password that was sent must not be sent again.
    private let flights = SingleFlight<Principal, Credential?>()

    init(
        _ secrets: StoredSecrets,
        permissions: SignInPermissions,
        store: SessionStore,
        backoff: SignInBackoff,
        trace: (@Sendable (String) -> Void)?
    ) {
        self.secrets = secrets
        self.permissions = permissions
        self.store = store
        self.backoff = backoff
        self.trace = trace
    }

    /// Requests a ticket-granting ticket with the stored password. Concurrent callers share one request. Returns nil if no password is
    /// stored.
    ///
    /// - Parameter ignoresPause: Whether to ignore the pause after a KDC did not answer, because the caller paces its own retries.
    func ticket(of principal: Principal, ignoresPause: Bool) async throws(KerberosError) -> Credential? {
        guard await mayUseSecret(of: principal) else { return nil }
        return try await flights.run(principal) { [self] () async throws(KerberosError) in
            guard let secret = await secret(of: principal) else { return nil }
            try await store.checkPlace(for: principal)
            // The refusal of a password is returned, not thrown: that password has been removed, so its refusal must not delay the next
            // one.
            let result = try await backoff.attempt(principal, ignoresPause: ignoresPause) {
                () async throws(KerberosError) -> Result<Credential, KerberosError> in
                do throws(KerberosError) {
                    return .success(try await send(secret, of: principal))
                } catch  where error.isRefusalOfPassword {
                    return .failure(await forgetRefused(secret, of: principal, error))
                }
            }
            return try result.get()
        }
    }

    private func send(_ secret: Secret, of principal: Principal) async throws(KerberosError) -> Credential {
        let options = permissions.policy.initialCredentialOptions(for: principal)
        let client = permissions.clients.client(for: principal.realm)
        return try await client.initialCredential(for: principal, using: .password(secret), options: options)
    }

    private func forgetRefused(
        _ secret: Secret,
        of principal: Principal,
        _ error: KerberosError
    ) async -> KerberosError {
        let kept = "the password stored in \(secrets.store.name)"
        let reason = error.code == .passwordExpired ? "has expired" : "is wrong (preauthentication failed)"
        await store.unmarkStoredSecret(of: principal)
        do throws(KerberosError) {
            try await secrets.refuse(secret, of: principal)
        } catch {
            let sentence = "\(kept) \(reason) and cannot be removed: \(error.message) Sign in with: ksso login \(principal)"
            return KerberosError(.wrongPassword, subject: principal.description, message: sentence)
        }
        let advice = error.code == .passwordExpired ? "Change it with: ksso passwd" : "Sign in with: ksso login --remember"
        return error.saying("\(kept) \(reason), and was removed. \(advice) \(principal)")
    }

    /// The stored password; nil if there is none, or if the store cannot be read.
    private func secret(of principal: Principal) async -> Secret? {
        do throws(KerberosError) {
            return try await secrets.secret(for: principal)
        } catch {
            trace?("no password can be looked up for \(error)")
            return nil
        }
    }

    /// Whether the profiles of the principal's realm allow stored passwords. If they do not, removes the principal's stored password.
    private func mayUseSecret(of principal: Principal) async -> Bool {
        do throws(KerberosError) {
            return try await secrets.mayBeUsed(of: principal)
        } catch {
            trace?("a password that the profile forbids cannot be removed for \(error)")
            return false
        }
    }
}

extension KerberosError {
    /// Whether the KDC refused the password as wrong or expired.
    var isRefusalOfPassword: Bool { code == .wrongPassword || code == .passwordExpired }
}
