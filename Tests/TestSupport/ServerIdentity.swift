internal import Foundation
public import KerberosTesting

/// A certificate and the key for it, each a PEM file.
public struct ServerIdentity: Sendable, Hashable {
    /// The certificate, which signs itself: a client trusts this very file.
    public let certificatePath: String
    /// The key, which has no password.
    public let keyPath: String
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
