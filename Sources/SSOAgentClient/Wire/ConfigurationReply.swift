package import HTTPNegotiate

/// The answer to `GET /v1/configuration`: what the agent's verdicts are made of, so that a client's are the same.
package struct ConfigurationReply: Codable, Sendable {
    /// Changes when the configurations do.
    package var version: String
    /// The configurations in force, in their order.
    package var configurations: [ConfigurationMessage]

    package init(version: String, configurations: [ExtensionConfiguration]) {
        self.version = version
        self.configurations = configurations.map { ConfigurationMessage($0) }
    }

    /// The verdicts. Throws `HostRuleError` or `AuthorizationError` for a rule that this version can't read.
    package func policy() throws -> DecisionPolicy {
        DecisionPolicy(try configurations.map { try $0.configuration() })
    }
}
