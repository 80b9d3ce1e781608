/// Where a realm's KDCs are looked for.
public struct KDCOrder: Sendable, Hashable {
    /// Those that the profile and krb5.conf name, in the order in which they are tried. sssd's locator plugin, where it is installed, is
    /// asked by libkrb5 before them.
    public let named: [String]
    /// Whether DNS is asked for others where none of these answers, or none is named. libkrb5 itself asks DNS only in the latter case, and so
    /// do stock programs; and never where krb5.conf says `dns_lookup_kdc = false`.
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

extension RealmConfiguration {
    /// The same, where libkrb5 finds the realm's KDCs in DNS.
    var withoutPreferredKDCs: RealmConfiguration {
        var copy = self
        copy.preferredKDCs = []
        copy.hidesConfiguredKDCs = true
        return copy
    }
}

extension Context {
    /// A boolean of krb5.conf, as libkrb5 reads it.
    static func isTrue(_ text: String) -> Bool { ["y", "yes", "true", "t", "1", "on"].contains(text.lowercased()) }
}
