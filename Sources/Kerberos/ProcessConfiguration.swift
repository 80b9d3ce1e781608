internal import CKerberos

/// What GSSAPI finds in this process's own krb5.conf (`KRB5_CONFIG`, else /etc/krb5.conf): it reads no other, whatever a
/// ``RealmConfiguration`` says.
public struct ProcessConfiguration: Sendable, Hashable {
    /// Whether tokens say that their maker knows of channel bindings, so that an acceptor with bindings refuses those that carry none:
    /// `client_aware_channel_bindings`.
    public let isAwareOfChannelBindings: Bool
    /// Whether it names a KDC of the realm. Where it does not, GSSAPI looks in DNS for the one that it needs to delegate.
    public let namesKDC: Bool
}

extension KerberosClient {
    /// Reads what GSSAPI would read now.
    ///
    /// - Parameter realm: whose KDCs to look for; nil is the realm of ``configuration``.
    /// - Throws: ``KerberosError``; `configurationInvalid` when the file has a fault, with which GSSAPI makes no token at all.
    public func processConfiguration(realm: String? = nil) async throws(KerberosError) -> ProcessConfiguration {
        try await perform { [realm = realm ?? configuration.realm] _ throws(KerberosError) in
            guard let profile = try RealmConfiguration.openProcessProfile() else {
                return ProcessConfiguration(isAwareOfChannelBindings: false, namesKDC: false)
            }
            defer { profile_release(profile) }
            var isAware: Int32 = 0
            profile_get_boolean(profile, "libdefaults", "client_aware_channel_bindings", nil, 0, &isAware)
            let kdcs = Context.values(["realms", realm, "kdc"], of: profile)
            return ProcessConfiguration(isAwareOfChannelBindings: isAware != 0, namesKDC: !kdcs.isEmpty)
        }
    }
}
