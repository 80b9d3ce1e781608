internal import CKerberos

extension KerberosClient {
    /// The default realm of krb5.conf (`krb5_get_default_realm`); nil when none is set.
    public func defaultRealm() async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in
            var realm: UnsafeMutablePointer<CChar>?
            guard krb5_get_default_realm(context.raw, &realm) == 0, let realm else { return nil }
            defer { krb5_free_default_realm(context.raw, realm) }
            return String(cString: realm)
        }
    }
}
