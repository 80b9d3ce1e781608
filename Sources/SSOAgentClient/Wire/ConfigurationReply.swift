package import SignOnPolicy

/// The answer to `GET /v1/configuration`: what the agent's verdicts are made of, so that a client's are the same.
package struct ConfigurationReply: Codable, Sendable {
    /// Changes when the configurations do.
    package var version: String
    /// The configurations in force, in their order.
    package var configurations: [ExtensionConfiguration]

    package init(version: String, configurations: [ExtensionConfiguration]) {
        self.version = version
        self.configurations = configurations
    }
}
