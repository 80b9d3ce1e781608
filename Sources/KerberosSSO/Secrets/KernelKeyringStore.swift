public import Kerberos
public import KerberosEngine

/// Keeps passwords in the user's keyring of the Linux kernel (user-keyring(7)): in its memory, on no disk, for all processes of the user.
///
/// Each is a key of the type `user` named `ksso:PRINCIPAL`, which `keyctl show @u` lists.
public struct KernelKeyringStore: SecretStore {
    /// A store; the kernel is asked when a password is.
    public init() {}

    /// `the kernel's keyring`.
    public var name: String { "the kernel's keyring" }

    /// The password; nil where there is none.
    ///
    /// - Throws: `KerberosError`, `secretStoreUnusable`, where the kernel has no keyrings or allows none here, as do the others.
    public func secret(for principal: Principal) async throws(KerberosError) -> Secret? {
        try KernelKeyring.secret(named: Self.description(of: principal))
    }

    /// Keeps a password until the machine stops, or the user's last process ends.
    @discardableResult
    public func store(_ secret: Secret, for principal: Principal) async throws(KerberosError) -> String {
        try KernelKeyring.store(secret, named: Self.description(of: principal))
        return "in \(name) until the machine stops, or no program of this user runs any more"
    }

    /// Removes the password.
    @discardableResult
    public func remove(_ principal: Principal) async throws(KerberosError) -> Bool {
        try KernelKeyring.remove(Self.description(of: principal))
    }

    private static func description(of principal: Principal) -> String { "ksso:\(principal)" }
}
