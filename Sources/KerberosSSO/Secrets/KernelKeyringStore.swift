public import Kerberos
public import KerberosEngine

/// Stores passwords in the user's keyring of the Linux kernel (user-keyring(7)): in memory, never on disk, for all processes of the user.
///
/// Each password is a key of type `user` named `ksso:PRINCIPAL`, which `keyctl show @u` lists.
public struct KernelKeyringStore: SecretStore {
    /// Creates a store. The kernel is called only when a password is read or written.
    public init() {}

    /// `the kernel's keyring`.
    public var name: String { "the kernel's keyring" }

    /// The stored password; nil if there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, if the kernel has no keyrings or does not allow their use here. The other methods
    ///   throw it as well.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        try KernelKeyring.secret(named: Self.description(of: principal))
    }

    /// Stores a password until the machine is shut down or the user's last process exits.
    @discardableResult
    public func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        try KernelKeyring.store(secret, named: Self.description(of: principal))
        return "in \(name) until the machine shuts down or your last process exits"
    }

    /// Removes the password.
    @discardableResult
    public func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        try KernelKeyring.remove(Self.description(of: principal))
    }

    private static func description(of principal: Principal) -> String { "ksso:\(principal)" }
}
