import Foundation
public import Kerberos
import NIOSSL
import TLSChannelBinding

/// The key type and signature algorithm of a test server's certificate, which determine the channel bindings (RFC 5929 section 4.1).
public struct ServerCertificate: Sendable, Hashable, CustomStringConvertible {
    /// The name of the static property, such as `ecdsaSHA256`.
    public let description: String
    /// The arguments of `openssl req`.
    private let arguments: [String]

    /// A P-256 key with a SHA-256 signature.
    public static let ecdsaSHA256 = ServerCertificate("ecdsaSHA256", ecdsa + ["-sha256"])
    /// A P-256 key with a SHA-384 signature.
    public static let ecdsaSHA384 = ServerCertificate("ecdsaSHA384", ecdsa + ["-sha384"])
    /// A 2048-bit RSA key with an MD5 signature, for which the bindings use SHA-256.
    public static let rsaMD5 = ServerCertificate("rsaMD5", rsa + ["-md5"])
    /// A 2048-bit RSA key with a SHA-1 signature, for which the bindings use SHA-256.
    public static let rsaSHA1 = ServerCertificate("rsaSHA1", rsa + ["-sha1"])
    /// A 2048-bit RSA key with a SHA-256 signature.
    public static let rsaSHA256 = ServerCertificate("rsaSHA256", rsa + ["-sha256"])
    /// A 2048-bit RSA key with a SHA-384 signature.
    public static let rsaSHA384 = ServerCertificate("rsaSHA384", rsa + ["-sha384"])
    /// A 2048-bit RSA key with a SHA-512 signature.
    public static let rsaSHA512 = ServerCertificate("rsaSHA512", rsa + ["-sha512"])
    /// A 2048-bit RSA key with an RSASSA-PSS signature and SHA-256, where the hash is in the signature's parameters.
    public static let rsaPSSSHA256 = ServerCertificate("rsaPSSSHA256", rsa + pss + ["-sha256"])
    /// A 2048-bit RSA key with an RSASSA-PSS signature and SHA-384, where the hash is in the signature's parameters.
    public static let rsaPSSSHA384 = ServerCertificate("rsaPSSSHA384", rsa + pss + ["-sha384"])
    /// An Ed25519 key, whose signature algorithm has no hash, so that no bindings are defined for it.
    public static let ed25519 = ServerCertificate("ed25519", ["-newkey", "ed25519"])

    /// All kinds of certificates.
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

    /// Writes a key and a self-signed certificate that is valid for a day, both in PEM.
    ///
    /// - Parameter host: The host name in the certificate.
    package func write(_ certificatePath: String, key keyPath: String, host: String = "localhost", realm: TestRealm) async throws {
        try await write(certificatePath, key: keyPath, host: host, environment: realm.environment, scratch: realm.directory)
    }

    /// Writes them with the environment and the folder for temporary files that `openssl` gets.
    func write(
        _ certificatePath: String,
        key keyPath: String,
        host: String,
        environment: [String: String],
        scratch: String
    ) async throws {
        let files = ["-noenc", "-keyout", keyPath, "-out", certificatePath]
        let name = ["-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)"]
        _ = try await Command.require(
            "openssl",
            ["req", "-x509", "-days", "1"] + arguments + files + name,
            environment: environment,
            scratch: scratch
        )
    }
}

/// A server certificate and its key, each in a PEM file.
public struct ServerIdentity: Sendable, Hashable {
    /// The path of the certificate. Because it is self-signed, clients must trust this file.
    public let certificatePath: String
    /// The path of the key, without a password.
    public let keyPath: String

    /// Computes the channel bindings of a connection to a server with this certificate (`tls-server-end-point`, RFC 5929 section 4.1), for
    /// ``AcceptorServerOptions/channelBindings``.
    ///
    /// - Throws: `TLSServerEndPointError` for a certificate without bindings, such as ``ServerCertificate/ed25519``; an error if the file
    ///   cannot be read.
    public func channelBindings() throws -> ChannelBindings {
        let certificates = try NIOSSLCertificate.fromPEMFile(certificatePath)
        guard let certificate = certificates.first else {
            throw KerberosTestingError(.invalidArgument, "\(certificatePath) contains no certificate.")
        }
        return ChannelBindings(applicationData: try TLSServerEndPoint(certificate: certificate.toDERBytes()).applicationData)
    }
}

extension TestRealm {
    /// Creates a key and a certificate in the realm's folder; they are removed with it.
    ///
    /// - Parameters:
    ///   - certificate: The key type and signature algorithm.
    ///   - host: The host name in the certificate.
    public func makeServerIdentity(_ certificate: ServerCertificate = .ecdsaSHA256, host: String = "localhost") async throws
        -> ServerIdentity
    {
        let path = "\(directory)/\(UUID().uuidString)"
        let identity = ServerIdentity(certificatePath: "\(path).certificate.pem", keyPath: "\(path).key.pem")
        try await certificate.write(identity.certificatePath, key: identity.keyPath, host: host, realm: self)
        return identity
    }
}
