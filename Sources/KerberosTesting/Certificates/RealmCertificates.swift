import Foundation
public import Kerberos

/// The certificate authority of one realm, in its folder: it signs the KDC's certificate and those of users (PKINIT, RFC 4556).
struct RealmCertificates: Sendable {
    /// Whom a certificate is for, by the purpose that it names (RFC 4556 sections 3.2.2 and 3.2.4).
    enum Purpose: String {
        case client = "1.3.6.1.5.2.3.4"
        case kdc = "1.3.6.1.5.2.3.5"
    }

    let realm: String
    let directory: String
    let environment: [String: String]

    init(_ configuration: RealmFiles, environment: [String: String]) {
        realm = configuration.options.name
        directory = configuration.certificateFolder
        self.environment = environment
    }

    /// Makes the authority and the KDC's certificate.
    func makeAuthority() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let subject = ["-subj", "/O=\(realm)/CN=Test CA"]
        _ = try await openssl(["req", "-x509", "-days", "1", "-out", "\(directory)/ca.pem"] + subject + key("ca"))
        try await issue("kdc", to: "krbtgt/\(realm)", for: .kdc)
    }

    /// Makes a key and a certificate for it, `NAME.key` and `NAME.pem`.
    func issue(_ name: String, to principal: String, for purpose: Purpose) async throws {
        let configuration = "\(directory)/\(name).cnf"
        try text(principal: principal, purpose: purpose).writeFile(configuration)
        let authority = ["-CA", "\(directory)/ca.pem", "-CAkey", "\(directory)/ca.key"]
        let files = ["-config", configuration, "-extensions", "own", "-out", "\(directory)/\(name).pem"]
        _ = try await openssl(["req", "-x509", "-days", "1"] + authority + files + key(name))
    }

    /// Puts a key and its certificate into one file with a PIN, which reaches openssl by standard input.
    func protect(_ name: String, pin: String) async throws {
        let files = ["-in", "\(directory)/\(name).pem", "-inkey", "\(directory)/\(name).key", "-out", "\(directory)/\(name).p12"]
        _ = try await openssl(["pkcs12", "-export", "-passout", "stdin"] + files, input: "\(pin)\n")
    }

    private func key(_ name: String) -> [String] { ["-newkey", "rsa:2048", "-noenc", "-keyout", "\(directory)/\(name).key"] }

    private func openssl(_ arguments: [String], input: String? = nil) async throws -> CommandResult {
        try await Command.require("openssl", arguments, environment: environment, input: input, scratch: directory)
    }

    /// The alternative name is a `KRB5PrincipalName` (RFC 4556 section 3.2.2).
    private func text(principal: String, purpose: Purpose) -> String {
        let parts = principal.split(separator: "/").enumerated().map { "part\($0.offset) = GeneralString:\($0.element)" }
        return """
            [req]
            prompt = no
            distinguished_name = subject
            [subject]
            O = \(realm)
            CN = \(parts.isEmpty ? "nobody" : principal.replacing("/", with: " "))
            [own]
            basicConstraints = CA:FALSE
            keyUsage = digitalSignature,keyEncipherment
            extendedKeyUsage = \(purpose.rawValue)
            subjectAltName = otherName:1.3.6.1.5.2.2;SEQUENCE:name
            [name]
            realm = EXP:0,GeneralString:\(realm)
            principal_name = EXP:1,SEQUENCE:principal
            [principal]
            name_type = EXP:0,INTEGER:1
            name_string = EXP:1,SEQUENCE:components
            [components]
            \(parts.joined(separator: "\n"))
            """
    }
}

extension TestRealm {
    /// Makes a certificate for a user of a realm that takes them: ``TestRealmOptions/acceptsCertificates``.
    ///
    /// The user has to be in the database, and needs no password there.
    /// - Parameters:
    ///   - principal: The user, without the realm.
    ///   - pin: If given, certificate and key are in a PKCS #12 file that asks for it.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if the realm takes none, `programMissing` for openssl.
    public func certificate(for principal: String, pin: String? = nil) async throws -> ClientCertificate {
        guard try center.configuration.options.acceptsCertificates else {
            throw KerberosTestingError(.invalidArgument, "\(name) takes no certificates; make it with acceptsCertificates: true.")
        }
        guard !principal.contains(where: \.isNewline), pin?.contains(where: \.isNewline) != true else {
            throw KerberosTestingError(.invalidArgument, "There is a line break in the name or in the PIN.")
        }
        let certificates = RealmCertificates(files, environment: environment)
        let file = UUID().uuidString
        let path = "\(certificates.directory)/\(file)"
        try await certificates.issue(file, to: principal, for: .client)
        if let pin { try await certificates.protect(file, pin: pin) }
        return ClientCertificate(
            certificatePath: "\(path).pem",
            keyPath: "\(path).key",
            identity: pin == nil ? "FILE:\(path).pem,\(path).key" : "PKCS12:\(path).p12"
        )
    }

    /// The certificate of the authority that signed the KDC's and the users' own, in PEM.
    public var certificateAuthorityPath: String { "\(files.certificateFolder)/ca.pem" }
}

/// A certificate with which a user signs in (PKINIT, RFC 4556), and its key. The files go with the realm.
public struct ClientCertificate: Sendable, Hashable {
    /// The certificate, in PEM.
    public let certificatePath: String
    /// The key, in PEM, without a password.
    public let keyPath: String
    /// Both as krb5.conf and `kinit -X X509_user_identity=…` name them: `FILE:` and the two paths, or `PKCS12:` and the path of a file that
    /// wants its PIN.
    public let identity: String
}

extension TestRealm {
    /// Makes a cache with a ticket-granting ticket that protects a sign-in (FAST armor, RFC 6113 section 5.4.1), as a machine's own would.
    ///
    /// For a KDC that demands it (``TestRealmOptions/demandsFAST``), and for any other: `kinit -T`, and `RealmConfiguration.armorCache`.
    /// - Returns: The name of the cache, `FILE:` and a path in the realm's folder.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the KDC gives no ticket, `notAdministered` for a realm that
    ///   somebody else runs.
    public func armorCache() async throws -> CredentialCacheName {
        _ = try center
        let cache = CredentialCacheName(rawValue: "FILE:\(directory)/armor-\(UUID().uuidString)")
        // The key is the database's own; the ticket's owner does not matter.
        _ = try await Command.require(
            "kinit",
            ["-k", "-t", "KDB:", "-c", cache.rawValue, "krbtgt/\(name)@\(name)"],
            environment: environment,
            scratch: directory
        )
        return cache
    }
}
