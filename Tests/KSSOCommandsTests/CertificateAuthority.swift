import Foundation
import Testing

/// Certificates for signing in (RFC 4556) to a realm of a test: the KDC's and alice's, by one authority. They go with the value.
final class CertificateAuthority: Sendable {
    let folder: String
    var anchor: String { "FILE:\(folder)/ca.pem" }
    var kdcIdentity: String { "FILE:\(folder)/kdc.pem,\(folder)/kdc.key" }
    var identity: String { "FILE:\(folder)/alice.pem,\(folder)/alice.key" }
    /// The same, with the PIN 1234.
    var protectedIdentity: String { "PKCS12:\(folder)/alice.p12" }

    init(realm: String) throws {
        folder = "\(NSTemporaryDirectory())/certificates-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try openssl(["req", "-x509", "-days", "1", "-subj", "/O=Corp/CN=Corp CA", "-out", "ca.pem"] + Self.key("ca"))
        try issue("kdc", usage: "1.3.6.1.5.2.3.5", principal: ["krbtgt", realm], realm: realm)
        try issue("alice", usage: "1.3.6.1.5.2.3.4", principal: ["alice"], realm: realm)
        try openssl(["pkcs12", "-export", "-in", "alice.pem", "-inkey", "alice.key", "-passout", "pass:1234", "-out", "alice.p12"])
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func issue(_ name: String, usage: String, principal: [String], realm: String) throws {
        let components = principal.enumerated().map { "part\($0.offset)=GeneralString:\($0.element)" }
        let extensions = """
            [own]
            basicConstraints=CA:FALSE
            keyUsage=digitalSignature,keyEncipherment
            extendedKeyUsage=\(usage)
            subjectAltName=otherName:1.3.6.1.5.2.2;SEQUENCE:name
            [name]
            realm=EXP:0,GeneralString:\(realm)
            principal_name=EXP:1,SEQUENCE:principal
            [principal]
            name_type=EXP:0,INTEGER:1
            name_string=EXP:1,SEQUENCE:components
            [components]
            \(components.joined(separator: "\n"))
            """
        try extensions.write(toFile: "\(folder)/\(name).cnf", atomically: true, encoding: .utf8)
        try openssl(["req", "-subj", "/O=Corp/CN=\(name)", "-out", "\(name).csr"] + Self.key(name))
        let files = ["-in", "\(name).csr", "-out", "\(name).pem", "-extfile", "\(name).cnf", "-extensions", "own"]
        try openssl(["x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "1"] + files)
    }

    private static func key(_ name: String) -> [String] { ["-newkey", "rsa:2048", "-noenc", "-keyout", "\(name).key"] }

    private func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = URL(filePath: folder)
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments.joined(separator: " "))")
    }
}
