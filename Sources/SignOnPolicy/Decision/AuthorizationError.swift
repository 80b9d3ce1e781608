/// An error of an authorization, with a message that says what to do.
///
/// Compare by ``code``; new codes may be added. ``cause`` is the underlying error, for verbose output.
public struct AuthorizationError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. The first six have the names of Apple's `ASAuthorizationError`.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The stable name, such as `notSignedIn`.
        public let rawValue: String

        /// Creates a code. Later versions and callers may define codes that are not listed here.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An unknown failure.
        public static let unknown = Code(rawValue: "unknown")
        /// The user or the caller canceled the request.
        public static let canceled = Code(rawValue: "canceled")
        /// The server's answer violates the protocol, or does not verify.
        public static let invalidResponse = Code(rawValue: "invalidResponse")
        /// No rule covers the request.
        public static let notHandled = Code(rawValue: "notHandled")
        /// The request was handled and failed.
        public static let failed = Code(rawValue: "failed")
        /// The user must be prompted, and may not be.
        public static let notInteractive = Code(rawValue: "notInteractive")
        /// The text is not an http or https URL with a usable host.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// No one is signed in to the realm, or the ticket has expired.
        public static let notSignedIn = Code(rawValue: "notSignedIn")
        /// No KDC of the realm answered.
        public static let kdcUnreachable = Code(rawValue: "kdcUnreachable")
        /// Too many requests of one caller are waiting for a KDC; a later one may succeed.
        public static let busy = Code(rawValue: "busy")
        /// The server rejected the ticket and gave the reason: its key or its clock differs.
        public static let refusedByServer = Code(rawValue: "refusedByServer")
        /// The request must be sent again, but its body can be read only once.
        public static let bodyNotReplayable = Code(rawValue: "bodyNotReplayable")
        /// The server did not prove that it is the requested service.
        public static let mutualAuthenticationFailed = Code(rawValue: "mutualAuthenticationFailed")
        /// The server kept requesting further tokens.
        public static let tooManyLegs = Code(rawValue: "tooManyLegs")
        /// The ticket is too large for a header field, or for the server.
        public static let tokenTooLarge = Code(rawValue: "tokenTooLarge")
        /// The server's certificate is unknown or has no channel bindings, and tickets without them are not allowed.
        public static let channelBindingsUnavailable = Code(rawValue: "channelBindingsUnavailable")
        /// The time limit has passed.
        public static let timedOut = Code(rawValue: "timedOut")
    }

    /// The kind of failure.
    public let code: Code
    /// A text that says what failed and what to do.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A text that says what failed and what to do.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}

/// The codes of an agent.
extension AuthorizationError.Code {
    /// No agent listens at the socket.
    public static let agentNotRunning = AuthorizationError.Code(rawValue: "agentNotRunning")
    /// The agent closed the connection before it answered, its answer is not understood by this version, or its tickets cannot be reached.
    public static let agentUnavailable = AuthorizationError.Code(rawValue: "agentUnavailable")
    /// The agent does not permit this caller to do that.
    public static let forbidden = AuthorizationError.Code(rawValue: "forbidden")
    /// The exchange has ended: it was completed, expired while waiting for the server, or was lost when the agent restarted.
    public static let unknownExchange = AuthorizationError.Code(rawValue: "unknownExchange")
}

extension AuthorizationError.Code: CustomStringConvertible {
    /// The stable name.
    public var description: String { rawValue }
}

extension AuthorizationError: Hashable {
    /// Two errors are equal if code and message are equal; the cause is ignored.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code && left.message == right.message }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}
