/// Why a request got no usable response, with a sentence that names the host and says what to do.
///
/// Compare by ``code-swift.property``; new codes may be added. ``cause`` is the error of the library beneath.
public struct HTTPTransportError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `connectionRefused`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A failure that nothing else names.
        public static let other = Code(rawValue: "other")
        /// No address is known for the host's name.
        public static let hostNotFound = Code(rawValue: "hostNotFound")
        /// Nothing listens there.
        public static let connectionRefused = Code(rawValue: "connectionRefused")
        /// The connection, or the request's stream of an HTTP/2 connection, ended before the response was complete.
        public static let connectionClosed = Code(rawValue: "connectionClosed")
        /// No connection, or no byte of an answer, in the time that the configuration of connections gives.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The TLS handshake failed; most often the certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// What came back is not HTTP.
        public static let malformedResponse = Code(rawValue: "malformedResponse")
        /// The head of the request is too large for the version of HTTP that the client may speak.
        public static let headTooLarge = Code(rawValue: "headTooLarge")
        /// More redirects than the client was told to follow.
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        /// A redirect to something that is no http or https URL.
        public static let invalidRedirect = Code(rawValue: "invalidRedirect")
        /// The client was shut down.
        public static let shutDown = Code(rawValue: "shutDown")

        /// The stable name.
        public var description: String { rawValue }
    }

    /// What kind of failure it was.
    public let code: Code
    /// A sentence that says what failed and what to do.
    public let message: String
    /// The error beneath, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}

extension HTTPTransportError {
    /// Names what a request to an origin died of.
    ///
    /// - Parameter reason: What the library beneath says, as a clause.
    package init(_ code: Code, origin: Origin, reason: String, cause: any Error) {
        let message =
            switch code {
            case .hostNotFound: "No address was found for \(origin.host). Check its spelling and the name service."
            case .connectionRefused:
                "\(origin.host) refuses connections on port \(origin.port). Check that the server runs and that the port is right."
            case .connectionClosed:
                "\(origin) closed the connection before its response was complete. Try again; the server's log says why it did."
            case .timedOut: "\(origin) did not answer in time. Check that it is reachable from here."
            case .tls:
                "No TLS connection with \(origin) came about: \(reason). Check its certificate and the authorities that are trusted here."
            case .malformedResponse: "\(origin) answered with something that is not HTTP. Check scheme and port: \(reason)."
            default: "The request to \(origin) failed: \(reason)."
            }
        self.init(code, message, cause: cause)
    }
}
