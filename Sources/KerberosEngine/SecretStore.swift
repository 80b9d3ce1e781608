public import Kerberos

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
