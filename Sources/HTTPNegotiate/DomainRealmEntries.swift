extension [ExtensionConfiguration] {
    /// Every `domainRealmMapping` as entries of krb5.conf's `[domain_realm]`: by host, or by suffix with a leading dot.
    ///
    /// A profile's `example.com` covers the host and its subdomains, and krb5.conf needs an entry for each; an entry that a profile itself
    /// has with the dot comes before one that only follows from another. The first profile wins: the machine's stand before the user's.
    package var domainRealmEntries: [String: String] {
        let entries = flatMap { configuration in
            configuration.domainRealmMapping.sorted { $0.key < $1.key }.flatMap { realm, suffixes in
                suffixes.map { ($0.asciiLowercased, realm) }
            }
        }
        let implied = entries.filter { !$0.0.hasPrefix(".") }.map { (".\($0.0)", $0.1) }
        return Dictionary(entries + implied) { first, _ in first }
    }
}
