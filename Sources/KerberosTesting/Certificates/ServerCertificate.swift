import Foundation
public import Kerberos
import NIOSSL
import TLSChannelBinding

/// The key and the signature of a test server's certificate, on which the channel bindings depend (RFC 5929 section 4.1).
public struct ServerCertificate: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind, as written in Swift.
    public let description: String
    /// What `openssl req` is told.
    private let arguments: [String]

    /// A P-256 key, signed with SHA-256.
    public static let ecdsaSHA256 = ServerCertificate("ecdsaSHA256", ecdsa + ["-sha256"])
    /// A P-256 key, signed with SHA-384.
    public static let ecdsaSHA384 = ServerCertificate("ecdsaSHA384", ecdsa + ["-sha384"])
    /// A 2048-bit RSA key, signed with MD5, for which the bindings use SHA-256.
    public static let rsaMD5 = ServerCertificate("rsaMD5", rsa + ["-md5"])
    /// A 2048-bit RSA key, signed with SHA-1, for which the bindings use SHA-256.
    public static let rsaSHA1 = ServerCertificate("rsaSHA1", rsa + ["-sha1"])
    /// A 2048-bit RSA key, signed with SHA-256.
    public static let rsaSHA256 = ServerCertificate("rsaSHA256", rsa + ["-sha256"])
    /// A 2048-bit RSA key, signed with SHA-384.
    public static let rsaSHA384 = ServerCertificate("rsaSHA384", rsa + ["-sha384"])
    /// A 2048-bit RSA key, signed with SHA-512.
    public static let rsaSHA512 = ServerCertificate("rsaSHA512", rsa + ["-sha512"])
    /// A 2048-bit RSA key, signed with RSASSA-PSS and SHA-256: the hash is in the signature's parameters.
    public static let rsaPSSSHA256 = ServerCertificate("rsaPSSSHA256", rsa + pss + ["-sha256"])
    /// A 2048-bit RSA key, signed with RSASSA-PSS and SHA-384: the hash is in the signature's parameters.
    public static let rsaPSSSHA384 = ServerCertificate("rsaPSSSHA384", rsa + pss + ["-sha384"])
    /// An Ed25519 key, whose signature names no hash, so that there are no bindings for it.
    public static let ed25519 = ServerCertificate("ed25519", ["-newkey", "ed25519"])

    /// All the kinds.
    public static let all: [ServerCertificate] = [
        .ecdsaSHA256, .ecdsaSHA384, .rsaMD5, .rsaSHA1, .rsaSHA256, .rsaSHA384, .rsaSHA512, .rsaPSSSHA256, .rsaPSSSHA384, .ed25519,
    ]

    private static let ecdsa = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    private static let rsa = ["-newkey", "rsa:2048"]
    private static let pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]

    private init(_ description: String, _ arguments: [String]) {
        self.description = description
        self.arguments = arguments
    }

    /// Writes a key and a certificate for it that is good for a day, both in PEM.
    ///
    /// - Parameter host: The name that the certificate is for.
    package func write(_ certificatePath: String, key keyPath: String, host: String = "localhost", realm: TestRealm) async throws {
        let files = ["-noenc", "-keyout", keyPath, "-out", certificatePath]
        let name = ["-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)"]
        _ = try await Command.require(
            "openssl",
            ["req", "-x509", "-days", "1"] + arguments + files + name,
            environment: realm.environment,
            scratch: realm.directory
        )
    }
}

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
