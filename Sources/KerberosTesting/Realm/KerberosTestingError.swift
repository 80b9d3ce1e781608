/// The reason why a test realm or a test server could not be set up or used.
public struct KerberosTestingError: Error, Sendable {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the static property, such as `programMissing`.
        public let description: String

        /// A program is not installed; the message contains the name of its Debian package.
        public static let programMissing = Code(description: "programMissing")
        /// A program failed; the message contains its output.
        public static let commandFailed = Code(description: "commandFailed")
        /// A server exited, or did not listen in time; the message contains its log.
        public static let serverNotReady = Code(description: "serverNotReady")
        /// A realm or server was used after its closure had returned.
        public static let scopeEnded = Code(description: "scopeEnded")
        /// An argument is not valid, such as a password with a line break.
        public static let invalidArgument = Code(description: "invalidArgument")
        /// The call would change the KDC or the database of a realm that the kit does not run.
        public static let notAdministered = Code(description: "notAdministered")
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, and what to do.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension KerberosTestingError: CustomStringConvertible {
    /// The message, followed by the cause if there is one.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
