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
