package import HTTPNegotiate

/// The profiles as a krb5.conf for programs that use stock libkrb5. The system's krb5.conf supplies what it does not set.
package struct KerberosConfigurationFile: Sendable {
    /// The file's contents.
    package let text: String

    /// Creates the file's contents from profiles.
    ///
    /// - Parameters:
    ///   - defaultRealm: The realm of names without one; nil leaves it to the system's file.
    ///   - bindsTokens: Whether the program that reads the file binds every token that it sends over https.
    ///   - cacheSocket: The socket of an agent that keeps the tickets; nil leaves the default cache to the system's file.
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

    /// The relations that request forwardable tickets, which delegation requires. Only realms whose profile delegates get one. The program
    /// itself decides whether to delegate, and to which servers.
    private static func forwardable(_ configurations: [ExtensionConfiguration]) -> [String] {
        let delegating = configurations.filter { !$0.delegationHosts.isEmpty || !$0.unconditionalDelegationHosts.isEmpty }
        return Set(delegating.map(\.realm)).sorted().flatMap { ["    \($0) = {", "        forwardable = true", "    }"] }
    }
}
