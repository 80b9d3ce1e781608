package import HTTPNegotiate

/// The JSON representation of an `ExtensionConfiguration`.
package struct ConfigurationMessage: Codable, Sendable, Hashable {
    var realm: String
    var hosts: [String]
    var plainHTTPHosts: [String]
    var preemptiveHosts: [String]
    var delegationHosts: [String]
    var unconditionalDelegationHosts: [String]
    var optionalMutualAuthenticationHosts: [String]
    var noMutualAuthenticationHosts: [String]
    var noChannelBindingHosts: [String]
    var servicePrincipals: [String: String]
    var principalName: String?
    var isDefaultRealm: Bool
    var domainRealmMapping: [String: [String]]
    var preferredKDCs: [String]
    var allowedPeers: [String: [String]]
    var credentialCallers: [String]?
    var source: String

    package init(_ configuration: ExtensionConfiguration) {
        realm = configuration.realm
        hosts = configuration.hosts.map(\.name)
        plainHTTPHosts = configuration.plainHTTPHosts.map(\.name)
        preemptiveHosts = configuration.preemptiveHosts.map(\.name)
        delegationHosts = configuration.delegationHosts.map(\.name)
        unconditionalDelegationHosts = configuration.unconditionalDelegationHosts.map(\.name)
        optionalMutualAuthenticationHosts = configuration.optionalMutualAuthenticationHosts.map(\.name)
        noMutualAuthenticationHosts = configuration.noMutualAuthenticationHosts.map(\.name)
        noChannelBindingHosts = configuration.noChannelBindingHosts.map(\.name)
        servicePrincipals = configuration.servicePrincipals.reduce(into: [:]) { $0[$1.key.description] = $1.value }
        principalName = configuration.principalName
        isDefaultRealm = configuration.isDefaultRealm
        domainRealmMapping = configuration.domainRealmMapping
        preferredKDCs = configuration.preferredKDCs.map(\.description)
        allowedPeers = configuration.allowedPeers.reduce(into: [:]) { $0[$1.peer.description] = $1.hosts.map(\.name) }
        credentialCallers = configuration.credentialCallers?.map(\.description)
        source = configuration.source
    }

    /// Converts the message to a configuration. Throws `HostRuleError` or `AuthorizationError` for a rule that this version cannot read.
    package func configuration() throws -> ExtensionConfiguration {
        ExtensionConfiguration(
            realm: realm,
            hosts: try hosts.map { try HostRule($0) },
            plainHTTPHosts: try plainHTTPHosts.map { try HostRule($0) },
            preemptiveHosts: try preemptiveHosts.map { try HostRule($0) },
            delegationHosts: try delegationHosts.map { try HostRule($0) },
            unconditionalDelegationHosts: try unconditionalDelegationHosts.map { try HostRule($0) },
            optionalMutualAuthenticationHosts: try optionalMutualAuthenticationHosts.map { try HostRule($0) },
            noMutualAuthenticationHosts: try noMutualAuthenticationHosts.map { try HostRule($0) },
            noChannelBindingHosts: try noChannelBindingHosts.map { try HostRule($0) },
            servicePrincipals: try servicePrincipals.reduce(into: [:]) { $0[try Origin(url: $1.key)] = $1.value },
            principalName: principalName,
            isDefaultRealm: isDefaultRealm,
            domainRealmMapping: domainRealmMapping,
            preferredKDCs: try preferredKDCs.map { try PreferredKDC($0) },
            allowedPeers: try allowedPeers.sorted { $0.key < $1.key }.compactMap { name, hosts in
                try AllowedPeer.Peer(name).map { AllowedPeer($0, hosts: try hosts.map { try HostRule($0) }) }
            },
            credentialCallers: credentialCallers?.compactMap { CredentialCaller($0) },
            source: source
        )
    }
}

/// The response to `GET /v1/configuration`: the configurations that a client needs to make the same decisions as the agent.
package struct ConfigurationReply: Codable, Sendable {
    /// A value that changes with the configurations.
    package var version: String
    /// The active configurations, in order of precedence.
    package var configurations: [ConfigurationMessage]

    package init(version: String, configurations: [ExtensionConfiguration]) {
        self.version = version
        self.configurations = configurations.map { ConfigurationMessage($0) }
    }

    /// Creates the decision policy. Throws `HostRuleError` or `AuthorizationError` for a rule that this version cannot read.
    package func policy() throws -> DecisionPolicy {
        DecisionPolicy(try configurations.map { try $0.configuration() })
    }
}
