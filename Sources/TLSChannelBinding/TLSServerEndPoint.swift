import Crypto

/// The channel bindings `tls-server-end-point` of a TLS server (RFC 5929 section 4).
///
/// They bind a Kerberos token to the TLS server's certificate: an attacker in the middle with another certificate cannot relay the token.
public struct TLSServerEndPoint: Sendable, Hashable {
    /// The application data for GSSAPI: `tls-server-end-point:` and the hash.
    public let applicationData: [UInt8]

    /// Computes the bindings.
    ///
    /// Only the certificate's outermost fields are read. The TLS library must check that it is valid and belongs to the server.
    ///
    /// - Parameter der: The server's own certificate, the first of the chain, as received: one DER value with nothing after it.
    /// - Throws: ``TLSServerEndPointError``. With the code `undefined` the certificate is well-formed, but has no bindings.
    public init(certificate der: [UInt8]) throws(TLSServerEndPointError) {
        let scheme: SignatureScheme
        do {
            scheme = try SignatureScheme(CertificateOutline(der: der).signatureAlgorithm)
        } catch {
            throw TLSServerEndPointError(unreadable: error)
        }
        guard let hash = scheme.hash else { throw TLSServerEndPointError(noHashFor: scheme) }
        applicationData = Array("tls-server-end-point:".utf8) + Self.digest(of: der, hash)
    }

    private static func digest<Hash: HashFunction>(of bytes: [UInt8], _ hash: Hash.Type) -> [UInt8] {
        Array(Hash.hash(data: bytes))
    }
}

/// Why there are no channel bindings for a certificate, with a message that says what to do.
///
/// Compare by ``code``; new codes may be added. ``cause`` is the underlying error, for verbose output.
public struct TLSServerEndPointError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `undefined`.
        public let rawValue: String

        /// Creates a code. Later versions may define codes that are not listed here.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The bytes are not exactly one certificate in DER.
        public static let malformed = Code(rawValue: "malformed")
        /// The signature uses no hash function, two of them, or an unsupported one, such as SHA-224.
        public static let undefined = Code(rawValue: "undefined")
    }

    /// The kind of error.
    public let code: Code
    /// A text that says what failed and what to do.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
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

extension TLSServerEndPointError: Hashable {
    /// Two errors are equal if code and message are equal; the cause is ignored.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code && left.message == right.message }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension TLSServerEndPointError {
    /// Creates the error for bytes that are not a certificate.
    init(unreadable cause: any Error) {
        self.init(
            .malformed,
            "The server's certificate cannot be read. Pass the bytes of one whole X.509 certificate in DER, with nothing after them.",
            cause: cause
        )
    }

    /// Creates the error for a certificate whose channel bindings are undefined.
    init(noHashFor scheme: SignatureScheme) {
        self.init(
            .undefined,
            "There are no channel bindings for a certificate that is signed with \(scheme.name) (RFC 5929 section 4.1). "
                + "Give the server a certificate whose signature uses SHA-256, SHA-384 or SHA-512."
        )
    }
}
