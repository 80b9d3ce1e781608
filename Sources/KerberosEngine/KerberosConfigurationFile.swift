package import HTTPNegotiate

/// The profiles as a krb5.conf for stock programs; the system's file stands behind it.
package struct KerberosConfigurationFile: Sendable {
    /// What the file holds.
    package let text: String

    /// - Parameters:
    ///   - defaultRealm: The realm of names that have none; nil leaves it to the system's file.
    ///   - bindsTokens: Whether the program that gets the file binds each token that goes over https.
    ///   - cacheSocket: Where an agent keeps the tickets; nil leaves the default cache to the system's file.
    package init(
        _ configurations: [ExtensionConfiguration],
        defaultRealm: String?,
        bindsTokens: Bool,
        cacheSocket: String? = nil
    ) {
        var lines = ["# Made by ksso from its profiles; changes are lost.", "[libdefaults]"]
        if let defaultRealm { lines.append("    default_realm = \(defaultRealm)") }
        lines += ["    dns_canonicalize_hostname = false", "    rdns = false"]
        if let cacheSocket { lines += ["    kcm_socket = \(cacheSocket)", "    default_ccache_name = KCM:"] }
        if bindsTokens { lines += KerberosConfigurationFile.channelBindings }
        lines += KerberosConfigurationFile.forwardable(configurations) + ["", "[realms]"]
        for configuration in configurations where !configuration.preferredKDCs.isEmpty {
            lines.append("    \(configuration.realm) = {")
            lines += configuration.preferredKDCs.map { "        kdc = \($0.mitSyntax)" }
            lines.append("    }")
        }
        lines += ["", "[domain_realm]"]
        lines += configurations.domainRealmEntries.sorted { $0.key < $1.key }.map { "    \($0.key) = \($0.value)" }
        text = lines.joined(separator: "\n") + "\n"
    }

    private static let channelBindings = [
        "    # Each token says that its maker knows channel bindings. One that goes out without them, over http, is then refused",
        "    # by an https server that checks them: nobody can pass it on there.",
        "    client_aware_channel_bindings = true",
    ]

    /// Only a forwardable ticket can be handed to a server. It is asked for in the realms alone where the profile delegates: whether a
    /// stock program hands it over, and to whom, is the program's own choice.
    private static func forwardable(_ configurations: [ExtensionConfiguration]) -> [String] {
        let delegating = configurations.filter { !$0.delegationHosts.isEmpty || !$0.unconditionalDelegationHosts.isEmpty }
        return Set(delegating.map(\.realm)).sorted().flatMap { ["    \($0) = {", "        forwardable = true", "    }"] }
    }
}
