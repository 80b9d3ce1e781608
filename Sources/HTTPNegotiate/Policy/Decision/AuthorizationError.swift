/// Why an authorization did not come about, with a sentence that says what to do.
///
/// Compare by ``code``; new codes may be added. ``cause`` holds what lies beneath, for a verbose report.
public struct AuthorizationError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was. The first six carry the extension's own names.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable name, such as `notSignedIn`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's or a caller's own.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A failure that nothing else names.
        public static let unknown = Code(rawValue: "unknown")
        /// The user or the caller called it off.
        public static let canceled = Code(rawValue: "canceled")
        /// The server's answer is not what the protocol allows, or does not verify.
        public static let invalidResponse = Code(rawValue: "invalidResponse")
        /// No rule covers the request.
        public static let notHandled = Code(rawValue: "notHandled")
        /// The request was taken on and failed.
        public static let failed = Code(rawValue: "failed")
        /// The user would have to be asked, and may not be.
        public static let notInteractive = Code(rawValue: "notInteractive")
        /// The text is no http or https URL with a usable host.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// Nobody is signed in to the realm, or the ticket has expired.
        public static let notSignedIn = Code(rawValue: "notSignedIn")
        /// No key distribution center of the realm answered.
        public static let kdcUnreachable = Code(rawValue: "kdcUnreachable")
        /// Too many requests of one caller wait for a key distribution center; another one may succeed in a moment.
        public static let busy = Code(rawValue: "busy")
        /// The server refused the ticket and said why: it has another key, or another time.
        public static let refusedByServer = Code(rawValue: "refusedByServer")
        /// The request must be sent again, and its body can be read only once.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// The server did not prove that it is the service that was asked for.
        public static let mutualAuthenticationFailed = Code(rawValue: "mutualAuthenticationFailed")
        /// The server kept asking for one more token.
        public static let tooManyLegs = Code(rawValue: "tooManyLegs")
        /// The ticket is too large for a header field, or for the server.
        public static let tokenTooLarge = Code(rawValue: "tokenTooLarge")
        /// The server's certificate can't be seen, and a ticket without channel bindings is not to be sent.
        public static let channelBindingsUnavailable = Code(rawValue: "channelBindingsUnavailable")
        /// A deadline passed.
        public static let timedOut = Code(rawValue: "timedOut")
    }

    /// What kind of failure it was.
    public let code: Code
    /// A sentence that says what failed and what to do.
    public let message: String
    /// The error beneath, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A sentence that says what failed and what to do.
    ///   - cause: The error beneath.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}

extension AuthorizationError.Code: CustomStringConvertible {
    /// The stable name.
    public var description: String { rawValue }
}

extension AuthorizationError: Hashable {
    /// Two errors are equal when code and message are; the cause does not count.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code && left.message == right.message }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}
