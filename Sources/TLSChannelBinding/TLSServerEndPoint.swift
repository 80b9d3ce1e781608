import Crypto

/// The channel bindings `tls-server-end-point` of a TLS server (RFC 5929 section 4).
///
/// They tie a Kerberos token to the certificate of the server at the other end of the TLS connection: whoever stands between with another
/// certificate can't pass the token on.
public struct TLSServerEndPoint: Sendable, Hashable {
    /// What GSSAPI takes as application data: `tls-server-end-point:` and the hash.
    public let applicationData: [UInt8]

    /// Computes the bindings.
    ///
    /// Of the certificate only the outermost fields are read. Whether it is valid, and the server's, is for TLS to find out.
    ///
    /// - Parameter der: The server's own certificate, the first of the chain, as it came over the wire: one DER value and nothing after it.
    /// - Throws: ``TLSServerEndPointError``. With the code `undefined` the certificate is whole, but has no bindings.
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

/// Why there are no channel bindings for a certificate, with a sentence that says what to do.
///
/// Compare by ``code``; new codes may be added. ``cause`` holds what lies beneath, for a verbose report.
public struct TLSServerEndPointError: Error, Sendable, CustomStringConvertible {
    /// What is wrong with the certificate.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The stable name, such as `undefined`.
        public let rawValue: String

        /// Makes a code; one that is not listed here is a later version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stable name.
        public var description: String { rawValue }

        /// The bytes are not one whole certificate in DER.
        public static let malformed = Code(rawValue: "malformed")
        /// The signature uses no hash function, two of them, or one that is not known here, such as SHA-224.
        public static let undefined = Code(rawValue: "undefined")
    }

    /// What is wrong with the certificate.
    public let code: Code
    /// A sentence that says what failed and what to do.
    public let message: String
    /// The error beneath, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What is wrong with the certificate.
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

extension TLSServerEndPointError: Hashable {
    /// Two errors are equal when code and message are; the cause does not count.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code && left.message == right.message }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension TLSServerEndPointError {
    /// The bytes are no certificate.
    init(unreadable cause: any Error) {
        self.init(
            .malformed,
            "The server's certificate can't be read. Pass the bytes of one whole X.509 certificate in DER, with nothing after them.",
            cause: cause
        )
    }

    /// The certificate is one for which no hash function is known.
    init(noHashFor scheme: SignatureScheme) {
        self.init(
            .undefined,
            "There are no channel bindings for a certificate that is signed with \(scheme.name) (RFC 5929 section 4.1). "
                + "Connect without channel bindings, or give the server a certificate whose signature uses SHA-256, SHA-384 or SHA-512."
        )
    }
}
