/// Why a test realm or a test server could not be set up or used.
public struct KerberosTestingError: Error, Sendable {
    /// The kind of failure.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind, as written in Swift.
        public let description: String

        /// A program is not installed; the message names the Debian package that has it.
        public static let programMissing = Code(description: "programMissing")
        /// A program ran and failed; the message carries what it wrote.
        public static let commandFailed = Code(description: "commandFailed")
        /// A server ended, or did not listen in time; the message carries its log.
        public static let serverNotReady = Code(description: "serverNotReady")
        /// A realm or server was used after the closure that it was made for had ended.
        public static let scopeEnded = Code(description: "scopeEnded")
        /// An argument cannot be expressed, for instance a password with a line break.
        public static let invalidArgument = Code(description: "invalidArgument")
        /// The KDC or the database of a realm that somebody else runs would have been changed.
        public static let notAdministered = Code(description: "notAdministered")
    }

    /// The kind of failure.
    public let code: Code
    /// What happened and what to do about it.
    public let message: String
    /// The error underneath, where there is one.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension KerberosTestingError: CustomStringConvertible {
    /// The message, followed by the cause where there is one.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
