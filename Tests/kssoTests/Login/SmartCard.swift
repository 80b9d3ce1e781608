import Foundation
import KerberosTesting

/// A smart card of SoftHSM, with the module that programs load for it.
struct SmartCard {
    static let pin = "123456"
    /// The label of its token.
    let label: String
    private let library: LoadableLibrary
    private let directory: String
    private let realm: TestRealm

    /// Creates a card with certificates and their keys.
    ///
    /// - Parameter certificates: The certificates by label.
    init(_ label: String, certificates: [String: ClientCertificate], library: LoadableLibrary, realm: TestRealm) async throws {
        self.label = label
        self.library = library
        self.realm = realm
        directory = "\(realm.directory)/card-\(label)"
        try FileManager.default.createDirectory(atPath: "\(directory)/tokens", withIntermediateDirectories: true)
        try "directories.tokendir = \(directory)/tokens\n".write(toFile: "\(directory)/softhsm2.conf", atomically: true, encoding: .utf8)
        let token = ["--init-token", "--free", "--label", label, "--pin", Self.pin, "--so-pin", "12345678"]
        try await run("softhsm2-util", ["--module", library.path] + token)
        for (number, (name, certificate)) in certificates.sorted(by: { $0.key < $1.key }).enumerated() {
            try await add(certificate, name: name, identifier: "0\(number + 1)")
        }
    }

    /// The environment in which the card is in the reader.
    var environment: [String: String] { ["SOFTHSM2_CONF": "\(directory)/softhsm2.conf"] }

    /// The certificate's setting.
    func identity(certificate: String? = nil) -> String {
        "PKCS11:module_name=\(library.path):token=\(label)" + (certificate.map { ":certlabel=\($0)" } ?? "")
    }

    /// Adds a certificate and its key.
    func add(_ certificate: ClientCertificate, name: String, identifier: String) async throws {
        let (key, body) = ("\(directory)/\(name).key", "\(directory)/\(name).crt")
        _ = try await realm.run("openssl", ["pkey", "-in", certificate.keyPath, "-outform", "DER", "-out", key])
        _ = try await realm.run("openssl", ["x509", "-in", certificate.certificatePath, "-outform", "DER", "-out", body])
        for (file, type) in [(key, "privkey"), (body, "cert")] {
            let object = ["--write-object", file, "--type", type, "--id", identifier, "--label", name]
            try await run("pkcs11-tool", ["--module", library.path, "--token-label", label, "--login", "--pin", Self.pin] + object)
        }
    }

    private func run(_ program: String, _ arguments: [String]) async throws {
        let programs = library.folder.split(separator: "/usr/lib").first.map { "\($0)/usr/bin" } ?? "/usr/bin"
        let unpacked = "\(programs)/\(program)"
        let path = FileManager.default.isExecutableFile(atPath: unpacked) ? unpacked : try Program.path(of: program)
        // The module may be next to the folder of the architecture.
        let names = try FileManager.default.contentsOfDirectory(atPath: library.folder).filter { $0.hasSuffix("-linux-gnu") }
        let folders = ([library.folder] + names.map { "\(library.folder)/\($0)" }).joined(separator: ":")
        let result = try await realm.run(
            path,
            arguments,
            environment: environment.merging(["LD_LIBRARY_PATH": folders]) { $1 },
            input: nil
        )
        guard result.exitStatus == 0 else { throw KerberosTestingError(.commandFailed, "\(program): \(result)") }
    }
}
