public import Kerberos
internal import SignOnPolicy
internal import Synchronization

/// A store of passwords, who may have one there, and which of them this process must not send again.
final class StoredSecrets: Sendable {
    /// Where the passwords are stored.
    let store: any SecretStore
    private let permissions: SignInPermissions
    private let refused = Mutex<[Principal: Secret]>([:])
    private let forbidden = Mutex<Set<Principal>>([])

    init(_ store: any SecretStore, _ permissions: SignInPermissions) {
        self.store = store
        self.permissions = permissions
    }

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

    /// Replaces a stored password after a change, because the KDC would refuse the old one. Removes the old one if the new one cannot be
    /// stored.
    func replace(of principal: Principal, with new: Secret) async {
        guard let old = try? await store.secret(for: principal) else { return }
        guard permissions.allowsStoredSecrets(of: principal.realm), (try? await store.store(new, for: principal)) != nil else {
            try? await refuse(old, of: principal)
            return
        }
    }

    /// Checks that a principal's password may be stored.
    ///
    /// - Throws: `KerberosError`; `policyRefused` if the profile of the realm does not allow it. A stored one is removed.
    func checkRemembering(of principal: Principal) async throws(KerberosError) {
        guard !permissions.allowsStoredSecrets(of: principal.realm) else { return }
        try await store.remove(principal)
        let key = permissions.policy.signInRules(of: principal.realm).allowsPassword ? "allowAutomaticLogin" : "allowPassword"
        let message = "the profile of the realm sets \(key) to false, so no password is stored. Sign in without --remember."
        throw KerberosError(.policyRefused, subject: principal.description, message: message)
    }

    /// Whether the profiles of the principal's realm allow stored passwords. If they do not, removes the principal's stored password, once.
    ///
    /// - Throws: `KerberosError` if the password cannot be removed.
    func mayBeUsed(of principal: Principal) async throws(KerberosError) -> Bool {
        if permissions.allowsStoredSecrets(of: principal.realm) { return true }
        guard forbidden.withLock({ $0.insert(principal).inserted }) else { return false }
        try await store.remove(principal)
        return false
    }

    /// Removes the passwords of principals. An error does not prevent the other removals.
    func remove(_ principals: Set<Principal>) async -> (removed: [Principal], failure: KerberosError?) {
        var (removed, failure): ([Principal], KerberosError?) = ([], nil)
        for principal in principals.sorted(by: { $0.description < $1.description }) {
            do throws(KerberosError) {
                if try await store.remove(principal) { removed.append(principal) }
            } catch {
                failure = failure ?? error
            }
        }
        return (removed, failure)
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
