internal import CKerberos

extension KerberosClient {
    /// The realm that `[domain_realm]` of the configuration names for a host (`krb5_get_host_realm`); nil leaves it to the KDC.
    public func configuredRealm(ofHost host: String) async throws(KerberosError) -> String? {
        try await performOnNetwork(subject: host, deadline: nil) { context, _ throws(KerberosError) in  // it may ask DNS, if so configured
            var realms: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
            guard krb5_get_host_realm(context.raw, host, &realms) == 0, let realms else { return nil }
            defer { krb5_free_host_realm(context.raw, realms) }
            guard let first = realms.pointee, first.pointee != 0 else { return nil }
            return String(cString: first)
        }
    }

    /// The default realm of krb5.conf (`krb5_get_default_realm`); nil when none is set.
    public func defaultRealm() async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in
            var realm: UnsafeMutablePointer<CChar>?
            guard krb5_get_default_realm(context.raw, &realm) == 0, let realm else { return nil }
            defer { krb5_free_default_realm(context.raw, realm) }
            return String(cString: realm)
        }
    }

    /// The realms that krb5.conf names: the default one, and those with a section of their own.
    package func configuredRealms() async throws(KerberosError) -> [String] {
        let standard = try await defaultRealm()
        let sections = try await perform { context throws(KerberosError) in try context.subsections(["realms"]) }
        return (standard.map { [$0] } ?? []) + sections.filter { $0 != standard }
    }
}
