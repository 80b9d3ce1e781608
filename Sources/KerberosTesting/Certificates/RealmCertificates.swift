import Foundation
public import Kerberos

/// The certificate authority of one realm, in the realm's folder. It signs the certificates of the KDC and of users (PKINIT, RFC 4556).
struct RealmCertificates: Sendable {
    /// The purpose of a certificate, as its extended key usage (RFC 4556 sections 3.2.2 and 3.2.4).
    enum Purpose: String {
        case client = "1.3.6.1.5.2.3.4"
        case kdc = "1.3.6.1.5.2.3.5"
        /// Smart-card logon, as Windows writes it.
        case card = "1.3.6.1.4.1.311.20.2.2"
    }

    /// Whom a certificate names.
    enum Holder {
        /// A principal, as a `KRB5PrincipalName` (RFC 4556 section 3.2.2).
        case principal(String)
        /// A user principal name of Active Directory, as Windows writes it.
        case userPrincipalName(String)
    }

    let realm: String
    let directory: String
    let environment: [String: String]

    init(_ configuration: RealmFiles, environment: [String: String]) {
        self.init(realm: configuration.options.name, directory: configuration.certificateFolder, environment: environment)
    }

    init(realm: String, directory: String, environment: [String: String]) {
        (self.realm, self.directory, self.environment) = (realm, directory, environment)
    }

    /// Creates the authority and the KDC's certificate.
    func makeAuthority() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        // The authority of another realm with this name has the same key.
        let subject = ["-subj", "/O=\(realm)/CN=Test CA \(UUID().uuidString)"]
        _ = try await openssl(["req", "-x509", "-days", "1", "-out", "\(directory)/ca.pem"] + subject + makeKey("ca"))
        try await issue("kdc", to: .principal("krbtgt/\(realm)"), for: .kdc)
    }

    /// Creates a key and a certificate for it, `NAME.key` and `NAME.pem`.
    func issue(_ name: String, to holder: Holder, for purpose: Purpose) async throws {
        let configuration = "\(directory)/\(name).cnf"
        try text(holder: holder, purpose: purpose).writeFile(configuration)
        let authority = ["-CA", "\(directory)/ca.pem", "-CAkey", "\(directory)/ca.key"]
        let files = ["-config", configuration, "-extensions", "own", "-out", "\(directory)/\(name).pem"]
        _ = try await openssl(["req", "-x509", "-days", "1"] + authority + files + makeKey(name))
    }

    /// Writes a key and its certificate to one PKCS #12 file with a PIN, which openssl reads from standard input.
    func protect(_ name: String, pin: String) async throws {
        let files = ["-in", "\(directory)/\(name).pem", "-inkey", "\(directory)/\(name).key", "-out", "\(directory)/\(name).p12"]
        _ = try await openssl(["pkcs12", "-export", "-passout", "stdin"] + files, input: "\(pin)\n")
    }

    /// Writes a key; returns the arguments of `openssl req` for a certificate of it.
    private func makeKey(_ name: String) async throws -> [String] {
        let path = "\(directory)/\(name).key"
        let key = try await CertificateKeys.shared.next(in: directory, realm: realm, environment: environment)
        guard FileManager.default.createFile(atPath: path, contents: Data(key.utf8), attributes: [.posixPermissions: 0o600]) else {
            throw KerberosTestingError(.commandFailed, "\(path) cannot be written.")
        }
        return ["-key", path]
    }

    private func openssl(_ arguments: [String], input: String? = nil) async throws -> CommandResult {
        try await Command.require("openssl", arguments, environment: environment, input: input, scratch: directory)
    }

    /// Returns the openssl configuration.
    private func text(holder: Holder, purpose: Purpose) -> String {
        let (name, alternative, parts) =
            switch holder {
            case .principal(let principal): (principal, "1.3.6.1.5.2.2;SEQUENCE:name", principal.split(separator: "/"))
            case .userPrincipalName(let name): (name, "1.3.6.1.4.1.311.20.2.3;UTF8:\(Self.quoted(name))", [])
            }
        let components = parts.enumerated().map { "part\($0.offset) = GeneralString:\(Self.quoted($0.element))" }
        return """
            [req]
            prompt = no
            distinguished_name = subject
            [subject]
            O = \(realm)
            CN = \(name.isEmpty ? "nobody" : Self.quoted(name.replacing("/", with: " ")))
            [own]
            basicConstraints = CA:FALSE
            keyUsage = digitalSignature,keyEncipherment
            extendedKeyUsage = \(purpose.rawValue)
            subjectAltName = otherName:\(alternative)
            [name]
            realm = EXP:0,GeneralString:\(realm)
            principal_name = EXP:1,SEQUENCE:principal
            [principal]
            name_type = EXP:0,INTEGER:1
            name_string = EXP:1,SEQUENCE:components
            [components]
            \(components.joined(separator: "\n"))
            """
    }

    /// A value of an openssl configuration, in which some characters have a meaning (config(5ssl)).
    private static func quoted(_ value: some StringProtocol) -> String {
        value.reduce(into: "") { result, character in
            if #"\"'`#$"#.contains(character) { result += "\\" }
            result.append(character)
        }
    }
}

extension TestRealm {
    /// Creates a certificate for a user of a realm with ``TestRealmOptions/acceptsCertificates``.
    ///
    /// The user must exist in the database, but needs no password. The certificates of a realm have different RSA keys. Realms of the
    /// process with the same name use the same keys, because openssl needs 0.4 s to create one, but reject each other's certificates.
    /// - Parameters:
    ///   - principal: The user, without the realm.
    ///   - pin: If given, the certificate and the key are in a PKCS #12 file protected by this PIN.
    /// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if the realm accepts no certificates, or `programMissing` if
    ///   openssl is missing.
    public func certificate(for principal: String, pin: String? = nil) async throws -> ClientCertificate {
        guard try center.configuration.options.acceptsCertificates else {
            throw KerberosTestingError(.invalidArgument, "\(name) does not accept certificates; create it with acceptsCertificates: true.")
        }
        guard !principal.contains(where: \.isNewline), pin?.contains(where: \.isNewline) != true else {
            throw KerberosTestingError(.invalidArgument, "The name or the PIN contains a line break. Remove it.")
        }
        let certificates = RealmCertificates(files, environment: environment)
        let file = UUID().uuidString
        let path = "\(certificates.directory)/\(file)"
        try await certificates.issue(file, to: .principal(principal), for: .client)
        if let pin { try await certificates.protect(file, pin: pin) }
        return ClientCertificate(
            certificatePath: "\(path).pem",
            keyPath: "\(path).key",
            identity: pin == nil ? "FILE:\(path).pem,\(path).key" : "PKCS12:\(path).p12"
        )
    }

    /// The path of the certificate, in PEM, of the authority that signs the certificates of the KDC and of users.
    public var certificateAuthorityPath: String { "\(files.certificateFolder)/ca.pem" }
}

/// A user's certificate for signing in (PKINIT, RFC 4556), and its key. The files are removed with the realm.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate, in PEM.
    public let certificatePath: String
    /// The path of the key, in PEM, without a password.
    public let keyPath: String
    /// Both as in krb5.conf and `kinit -X X509_user_identity=…`: `FILE:` and the two paths, or `PKCS12:` and the path of a file that
    /// requires its PIN.
    public let identity: String
}

extension TestRealm {
    /// Creates a cache with a ticket-granting ticket for FAST armor (RFC 6113 section 5.4.1), as a host's own ticket would provide.
    ///
    /// It works with a KDC that requires FAST (``TestRealmOptions/demandsFAST``) and with any other. Pass it to `kinit -T` or to
    /// `RealmConfiguration.armorCache`.
    /// - Returns: The name of the cache, `FILE:` and a path in the realm's folder.
    /// - Throws: ``KerberosTestingError`` with the code `commandFailed` if the KDC issues no ticket, or `notAdministered` if the kit does
    ///   not run the realm.
    public func armorCache() async throws -> CredentialCacheName {
        _ = try center
        let cache = CredentialCacheName(rawValue: "FILE:\(directory)/armor-\(UUID().uuidString)")
        // The key comes directly from the database; the client principal of the ticket does not matter.
        _ = try await Command.require(
            "kinit",
            ["-k", "-t", "KDB:", "-c", cache.rawValue, "krbtgt/\(name)@\(name)"],
            environment: environment,
            scratch: directory
        )
        return cache
    }
}
