/// Why the agent can't run.
package struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it was.
    package struct Code: RawRepresentable, Sendable, Hashable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Another agent of the same runtime folder is at work.
        package static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// The runtime folder can't be made or written, or is open to others.
        package static let directoryUnusable = Code(rawValue: "directoryUnusable")
        /// What systemd handed over are not the agent's sockets.
        package static let unknownSocket = Code(rawValue: "unknownSocket")
    }

    /// What kind of failure it was.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
