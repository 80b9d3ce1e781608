import Foundation
public import Kerberos
import NIOSSL
import TLSChannelBinding

/// A certificate and the key for it, each a PEM file.
public struct ServerIdentity: Sendable, Hashable {
    /// The certificate, which signs itself: a client trusts this very file.
    public let certificatePath: String
    /// The key, which has no password.
    public let keyPath: String

    /// The channel bindings of a connection to a server that shows the certificate (`tls-server-end-point`, RFC 5929 section 4.1), for
    /// ``AcceptorServerOptions/channelBindings``.
    ///
    /// - Throws: `TLSServerEndPointError` for a certificate that has none, such as ``ServerCertificate/ed25519``.
    public func channelBindings() throws -> ChannelBindings {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath)
        guard let certificate = certificates.first else {
            throw KerberosTestingError(.invalidArgument, "\(certificatePath) holds no certificate.")
        }
        return ChannelBindings(applicationData: try TLSServerEndPoint(certificate: certificate.toDERBytes()).applicationData)
    }
}

extension TestRealm {
    /// Makes a key and a certificate in the realm's folder, with which they go.
    ///
    /// - Parameters:
    ///   - certificate: The kind of key and signature.
    ///   - host: The name that the certificate is for.
    public func makeServerIdentity(_ certificate: ServerCertificate = .ecdsaSHA256, host: String = "localhost") async throws
        -> ServerIdentity
    {
        let path = "\(directory)/\(UUID().uuidString)"
        let identity = ServerIdentity(certificatePath: "\(path).certificate.pem", keyPath: "\(path).key.pem")
        try await certificate.write(identity.certificatePath, key: identity.keyPath, host: host, realm: self)
        return identity
    }
}
