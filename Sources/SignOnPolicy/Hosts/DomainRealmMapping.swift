/// An entry of `domainRealmMapping` that covers a host.
struct DomainRealmMatch: Sendable, Hashable {
    let entry: String
    let realm: String

    /// The entry for the host itself, else the one with the longest suffix.
    ///
    /// Realms are searched in alphabetical order, so that a profile always gives the same result. An entry that is not a host name covers
    /// nothing.
    static func best(in configuration: ExtensionConfiguration, host: String) -> DomainRealmMatch? {
        var best: (match: DomainRealmMatch, rank: Int)?
        for entry in configuration.domainRealms {
            guard let rank = rank(of: entry.rule, host: host), rank > best?.rank ?? -1 else { continue }
            best = (DomainRealmMatch(entry: entry.text, realm: entry.realm), rank)
        }
        return best?.match
    }

    /// How specific an entry is for a host; nil if it does not cover it. Any suffix is shorter than the host.
    private static func rank(of rule: HostRule, host: String) -> Int? {
        if rule.matches(host: host) { return rule.name.utf8.count }
        // Unlike an entry of `Hosts`, a name without a leading dot covers its subdomains too.
        return rule.subdomains.matches(host: host) ? rule.name.utf8.count : nil
    }
}

extension ExtensionConfiguration {
    /// The entries of `domainRealmMapping` that are host names, in the order of their realms.
    fileprivate var domainRealms: [(text: String, rule: HostRule, realm: String)] {
        domainRealmMapping.sorted { $0.key < $1.key }.flatMap { realm, entries in
            entries.compactMap { text in (try? HostRule(text)).map { (text, $0, realm) } }
        }
    }
}

extension [ExtensionConfiguration] {
    /// All `domainRealmMapping` entries in the form of krb5.conf's `[domain_realm]`: by host, or by suffix with a leading dot.
    ///
    /// A profile's `example.com` covers the host and its subdomains, so krb5.conf needs an entry for each. Entries that a profile contains
    /// with the dot precede entries that are derived. The first profile takes precedence: system-wide profiles precede the user's.
    package var domainRealmEntries: [String: String] {
        let entries = flatMap(\.domainRealms)
        let implied = entries.compactMap { entry -> (String, String)? in
            switch entry.rule.kind {
            case .exact: (entry.rule.subdomains.name, entry.realm)
            case .suffix: nil
            }
        }
        return Dictionary(entries.map { ($0.rule.name, $0.realm) } + implied) { first, _ in first }
    }
}
