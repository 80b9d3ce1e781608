public import Kerberos

/// An error of a directory.
public struct DirectoryError: Error, Sendable {
    /// A kind of failure. New kinds may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable name of the kind.
        public let rawValue: String
        /// Creates a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// libldap is not installed.
        public static let libraryMissing = Code(rawValue: "libraryMissing")
        /// No controller answers, or it stopped answering.
        public static let unreachable = Code(rawValue: "unreachable")
        /// There is no ticket for the controller; see ``DirectoryError/cause``.
        public static let noTicket = Code(rawValue: "noTicket")
        /// The controller refused the sign-in or the question.
        public static let refused = Code(rawValue: "refused")
        /// The TLS connection failed: the controller has no certificate, or it is not valid for its name.
        public static let tlsFailed = Code(rawValue: "tlsFailed")
        /// The directory has no such account, or does not show it.
        public static let unknownAccount = Code(rawValue: "unknownAccount")
        /// The task was canceled.
        public static let canceled = Code(rawValue: "canceled")
        /// Another failure.
        public static let other = Code(rawValue: "other")
    }

    /// The kind of failure; compare errors by this value.
    public let code: Code
    /// What the error is about: a controller, a domain or an account.
    public let subject: String
    /// A text that says what failed and what to do.
    public let message: String
    /// The error of Kerberos behind it; nil if there is none.
    public let cause: KerberosError?

    package init(_ code: Code, subject: String, message: String, cause: KerberosError? = nil) {
        self.code = code
        self.subject = subject
        self.message = message
        self.cause = cause
    }
}

extension DirectoryError: CustomStringConvertible {
    /// `subject: message`.
    public var description: String { "\(subject): \(message)" }
}
