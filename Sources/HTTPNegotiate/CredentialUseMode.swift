/// Whose credential answers a host of `Hosts`: the key `credentialUseMode`, as its first text had it, which agrees with the values' names.
public enum CredentialUseMode: String, Sendable, Hashable, CaseIterable {
    /// The extension's, whatever principal the program names.
    case always
    /// The extension's, where the program names no principal; else that of the one it names.
    case whenNotSpecified
    /// That of libkrb5's default credential: the primary cache's principal, whatever its realm. No choice is made by host.
    case kerberosDefault
}

extension CredentialUseMode {
    /// The principal that counts of those a program names.
    package func choice(_ named: String?) -> String? { self == .always ? nil : named }
}
