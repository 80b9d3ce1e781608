internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import NIOSSL
internal import SystemSupport

/// The certificate authorities to trust for https servers.
struct TrustOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities in this PEM file instead of the system's; by default SSL_CERT_FILE names it, "
                + "as for OpenSSL.",
            valueName: "file"
        ),
        completion: .file()
    )
    var cacert: String?

    /// The advice to add to the error about an untrusted certificate.
    static let advice = "To trust another authority, use: --cacert FILE"

    /// OpenSSL's directory of the system's authorities, by hashed names. A file in SSL_CERT_FILE replaces OpenSSL's default file, not this
    /// directory.
    private static let standardDirectory = "/etc/ssl/certs"

    /// Returns the TLS configuration for the options and variables; nil means the client's default, which trusts the system's authorities.
    ///
    /// - Throws: ``CommandFailure`` for a file that cannot be used.
    func tls(environment: [String: String]) throws(CommandFailure) -> TLSConfiguration? {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        var tls = TLSConfiguration.makeClientConfiguration()
        var isOwn = true
        if let cacert {
            tls.trustRoots = .certificates(try Self.certificates(in: cacert, named: "--cacert"))
        } else if let file = variable("SSL_CERT_FILE") {
            let directory = variable("SSL_CERT_DIR") ?? Self.standardDirectory
            tls.trustRoots = Self.isDirectory(directory) ? .file(directory) : .certificates([])
            tls.additionalTrustRoots = [.certificates(try Self.certificates(in: file, named: "SSL_CERT_FILE"))]
        } else {
            isOwn = false
        }
        // Set inside `ksso realm run`. The first server has two variables if there are several servers.
        let prefix = EnclosingRealm.certificateVariable
        var files: Set<String> = []
        for name in environment.keys.sorted() where name == prefix || name.hasPrefix("\(prefix)_") {
            guard let file = variable(name), files.insert(file).inserted else { continue }
            tls.additionalTrustRoots.append(.certificates(try Self.certificates(in: file, named: name)))
            isOwn = true
        }
        return isOwn ? tls : nil
    }

    private static func certificates(in file: String, named origin: String) throws(CommandFailure) -> [NIOSSLCertificate] {
        guard access(file, F_OK) == 0 else { throw CommandFailure(.failed, "\(origin): there is no such file: \(file)") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandFailure(.failed, "\(origin): \(file) cannot be read.")
        }
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(Array(data)), !certificates.isEmpty else {
            throw CommandFailure(
                .failed,
                "\(origin): \(file) contains no certificate. It must be a PEM file with a BEGIN CERTIFICATE line."
            )
        }
        return certificates
    }

    private static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
