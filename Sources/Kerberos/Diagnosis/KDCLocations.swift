internal import CKerberos

/// Where libkrb5 would look for a realm's KDCs, and by how much clocks may differ there.
package struct KDCLocations: Sendable, Hashable {
    /// What the profile and krb5.conf name, in the order in which they are tried.
    package let configured: [String]
    /// Whether DNS is asked where these name nothing: `dns_lookup_kdc`.
    package let asksDNS: Bool
    /// By how many seconds clocks may differ: `clockskew`.
    package let clockTolerance: Double
}

extension KerberosClient {
    /// Where this realm's KDCs are looked for.
    package func kdcLocations() async throws(KerberosError) -> KDCLocations {
        try await perform { [realm = configuration.realm] context throws(KerberosError) in
            let lookup = try context.values(["libdefaults", "dns_lookup_kdc"]) + context.values(["libdefaults", "dns_fallback"])
            let skew = try context.values(["libdefaults", "clockskew"]).first
            return KDCLocations(
                configured: try context.values(["realms", realm, "kdc"]),
                asksDNS: !["false", "no", "n", "f", "nil", "0", "off"].contains(lookup.first?.lowercased() ?? "true"),
                clockTolerance: skew.flatMap { Double($0) } ?? 300
            )
        }
    }

    /// A relation of `[libdefaults]`, as libkrb5 sees it here.
    package func libdefault(_ name: String) async throws(KerberosError) -> String? {
        try await perform { context throws(KerberosError) in try context.values(["libdefaults", name]).first }
    }
}
