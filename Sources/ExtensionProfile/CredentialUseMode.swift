/// When a program that picks no credential of its own gets the extension's: the key `credentialUseMode`.
public enum CredentialUseMode: String, Sendable, Hashable, CaseIterable {
    /// For every service whose host stands in `Hosts`, whatever the program asked for.
    case always
    /// For these hosts when the program names no other credential.
    case whenNotSpecified
    /// Never by the extension; the usual rules of Kerberos choose.
    case kerberosDefault
}
