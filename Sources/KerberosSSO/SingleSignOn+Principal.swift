public import Kerberos
internal import KerberosEngine

extension SingleSignOn {
    /// The principal that a name means: with no realm in it, the given realm's, else the default realm's; with no name, whom
    /// ``signIn(_:realm:prompt:options:)`` would take.
    public func principal(_ name: String?, realm: String? = nil) async throws(KerberosError) -> Principal {
        guard let name else { return try await kerberos.defaultPrincipal(realm: realm) }
        return try await kerberos.principal(name, realm: realm)
    }
}
