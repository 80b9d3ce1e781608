internal import HTTPNegotiate

/// The profiles as a krb5.conf for stock programs; the system's file stands behind it.
struct KerberosConfigurationFile {
    let text: String

    init(_ configurations: [ExtensionConfiguration], defaultRealm: String?) {
        var lines = ["# Made by ksso from its profiles; changes are lost.", "[libdefaults]"]
        if let defaultRealm { lines.append("    default_realm = \(defaultRealm)") }
        lines += ["    dns_canonicalize_hostname = false", "    rdns = false", "", "[realms]"]
        for configuration in configurations where !configuration.preferredKDCs.isEmpty {
            lines.append("    \(configuration.realm) = {")
            lines += configuration.preferredKDCs.map { "        kdc = \($0.mitSyntax)" }
            lines.append("    }")
        }
        lines += ["", "[domain_realm]"]
        for configuration in configurations {
            for (realm, suffixes) in configuration.domainRealmMapping.sorted(by: { $0.key < $1.key }) {
                lines += suffixes.map { "    \($0.lowercased()) = \(realm)" }
                lines += suffixes.filter { !$0.hasPrefix(".") }.map { "    .\($0.lowercased()) = \(realm)" }
            }
        }
        text = lines.joined(separator: "\n") + "\n"
    }
}
