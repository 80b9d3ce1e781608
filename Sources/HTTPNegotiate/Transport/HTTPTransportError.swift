internal import SignOnPolicy

/// An error of a request that got no usable response, with a message that names the host and says what to do.
///
/// Compare by ``code-swift.property``; new codes may be added. ``cause`` is the underlying library's error.
public struct HTTPTransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `connectionRefused`.
        public let rawValue: String

        /// Creates a code. Later versions may define codes that are not listed here.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Any other failure.
        public static let other = Code(rawValue: "other")
        /// The host name has no known address.
        public static let hostNotFound = Code(rawValue: "hostNotFound")
        /// Nothing listens on the port.
        public static let connectionRefused = Code(rawValue: "connectionRefused")
        /// The connection, or the request's stream in an HTTP/2 connection, closed before the response was complete.
        public static let connectionClosed = Code(rawValue: "connectionClosed")
        /// No connection was made, or no byte of a response came, within the configured time.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The TLS handshake failed, most often because the certificate is not trusted.
        public static let tls = Code(rawValue: "tls")
        /// The response is not HTTP.
        public static let malformedResponse = Code(rawValue: "malformedResponse")
        /// The request's head is too large for the HTTP versions that the client may use.
        public static let headTooLarge = Code(rawValue: "headTooLarge")
        /// More redirects than the client may follow.
        public static let tooManyRedirects = Code(rawValue: "tooManyRedirects")
        /// A redirect to something other than an http or https URL.
        public static let invalidRedirect = Code(rawValue: "invalidRedirect")
        /// The client was shut down.
        public static let shutDown = Code(rawValue: "shutDown")

        /// The stable name.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// A text that says what failed and what to do.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?
    /// The reason of a TLS failure, if it is known.
    package private(set) var tlsFault: TLSFault?

    /// The reason of a TLS failure.
    package enum TLSFault: Sendable, Hashable {
        /// The server's first bytes are no TLS record.
        case withoutTLS
        /// No trusted authority issued the server's certificate, or it is not currently valid.
        case untrustedCertificate
    }

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}

extension HTTPTransportError {
    /// Creates the error for a failed request to an origin.
    ///
    /// - Parameters:
    ///   - reason: The underlying library's message, as a clause.
    package init(_ code: Code, origin: Origin, reason: String, cause: any Error) {
        let message =
            switch code {
            case .hostNotFound:
                "no address was found for \(origin.host). Check the host's name, and whether the network or the VPN is connected."
            case .connectionRefused:
                "\(origin.host) refuses connections on port \(origin.port). Check that the server runs and that the port is right."
            case .connectionClosed:
                "\(origin) closed the connection before its response was complete. Try again, or check the server's log."
            case .timedOut: "\(origin) did not respond in time. Check that it is reachable from this machine."
            case .tls:
                "the TLS connection with \(origin) failed: \(reason). "
                    + (reason.contains("certificate")
                        ? "Check its certificate and the trusted authorities." : "Check the scheme and the port.")
            case .malformedResponse: "\(origin) sent a response that is not HTTP (\(reason)). Check the scheme and the port."
            default: "the request to \(origin) failed: \(reason)."
            }
        self.init(code, message, cause: cause)
    }

    /// Creates the error for a TLS failure, which is an error of NIOSSL.
    package init(tls cause: any Error, origin: Origin) {
        let (reason, fault) = Self.reason(ofTLS: cause)
        self.init(.tls, origin: origin, reason: reason, cause: cause)
        tlsFault = fault
    }

    /// Returns a readable reason for a TLS error, because BoringSSL's messages contain source files and are not meant for users.
    private static func reason(ofTLS error: any Error) -> (text: String, fault: TLSFault?) {
        let text = "\(error)"
        let untrusted = "its certificate is not trusted, or not currently valid"
        let plain = "it does not use TLS on this port, but possibly plain http"
        let reasons: [(mark: String, text: String, fault: TLSFault?)] = [
            ("CERTIFICATE_VERIFY_FAILED", untrusted, .untrustedCertificate),
            ("unableToValidateCertificate", untrusted, .untrustedCertificate),
            ("failedToValidateHostname", "its certificate is for another name", nil),
            ("WRONG_VERSION_NUMBER", plain, .withoutTLS),
            (
                "NO_APPLICATION_PROTOCOL",
                "it supports no HTTP version that this request can use; a head larger than 16 KiB requires HTTP/1.1", nil
            ),
            ("HTTP_REQUEST", plain, .withoutTLS),
            ("eofDuringHandshake", "it closed the connection during the handshake", nil),
        ]
        guard let reason = reasons.first(where: { text.contains($0.mark) }) else {
            return (text.replacing(#/\ at\ /[^ \]]*/#, with: ""), nil)
        }
        return (reason.text, reason.fault)
    }
}
