/// Where a realm's KDCs are looked for.
public struct KDCOrder: Sendable, Hashable {
    /// Those that the profile and krb5.conf name, in the order in which they are tried. sssd's locator plugin, where it is installed, is
    /// asked by libkrb5 before them.
    public let named: [String]
    /// Whether DNS is asked for others where none of these answers, or none is named. libkrb5 itself asks DNS only in the latter case, and
    /// so do stock programs; and never where krb5.conf says `dns_lookup_kdc = false`.
    public let asksDNS: Bool
}

/// How the KDCs of a realm are found.
enum KDCRoute: Sendable, Hashable {
    /// The preferred ones and krb5.conf's; where there are none, DNS.
    case configured
    /// DNS alone: krb5.conf, which may be one that was made from the profile, names none but the preferred ones.
    case discovered

    var other: KDCRoute { self == .configured ? .discovered : .configured }
}

/// Whose KDCs a route leads to.
enum KDCScope: Sendable, Hashable {
    /// Those of the client's own realm.
    case own
    /// Those of the realms that trusts lead to.
    case trusted
}

extension RealmConfiguration {
    /// The same, where libkrb5 finds the KDCs of these realms in DNS.
    func findingInDNS(_ realms: Set<String>) -> RealmConfiguration {
        var copy = self
        if realms.contains(realm) { copy.preferredKDCs = [] }
        copy.otherKDCs = otherKDCs.filter { !realms.contains($0.key) }
        copy.realmsWithoutKDCs = realms
        return copy
    }
}

extension Context {
    /// Whether krb5.conf lets DNS be asked for KDCs.
    func asksDNSForKDCs() throws(KerberosError) -> Bool {
        let words = try values(["libdefaults", "dns_lookup_kdc"]) + values(["libdefaults", "dns_fallback"])
        return words.first.map(Context.isTrue) ?? true
    }

    /// A boolean of krb5.conf, as libkrb5 reads it.
    static func isTrue(_ text: String) -> Bool { ["y", "yes", "true", "t", "1", "on"].contains(text.lowercased()) }
}
