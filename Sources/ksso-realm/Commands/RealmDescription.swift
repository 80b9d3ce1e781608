internal import CommandSupport
internal import KerberosTesting
internal import SystemSupport

/// The document that `ksso realm run --json` prints on one line.
struct RealmDescription: Encodable {
    struct Realm: Encodable {
        let name: String
        let kdc: String
        let configuration: String
        let keytab: String
        let directory: String
        /// The authority of the certificates; nil if the realm accepts none.
        let certificateAuthority: String?
        /// The certificates of the users; nil if the realm accepts none.
        let certificates: [Certificate]?
    }

    /// A certificate with which a user can sign in.
    struct Certificate: Encodable {
        let user: String
        let certificate: String
        let key: String
        /// Both, as for `ksso login --certificate`.
        let identity: String
    }

    struct Server: Encodable {
        /// The name in the plan; nil if it has none.
        let name: String?
        let realm: String
        let url: String
        /// The certificate to trust; nil for plain http.
        let certificate: String?
    }

    let realms: [Realm]
    let web: [Server]
    /// The variables for programs that are to use the realm.
    let environment: [String: String]
}

extension RealmDescription.Realm {
    init(_ realm: TestRealm, certificates: [RealmDescription.Certificate]?) {
        name = realm.name
        kdc = "\(realm.address):\(realm.networks.first?.port ?? realm.kdcPort)"
        configuration = realm.configurationPath
        keytab = realm.keytabPath
        directory = realm.directory
        certificateAuthority = certificates.map { _ in realm.certificateAuthorityPath }
        self.certificates = certificates
    }
}

extension RealmDescription.Certificate {
    init(user: String, _ files: ClientCertificate) {
        self.user = user
        certificate = files.certificatePath
        key = files.keyPath
        identity = files.identity
    }

    /// Creates a certificate for each user of a realm; returns nil if the realm accepts none.
    static func make(_ options: TestRealmOptions, in realm: TestRealm) async throws -> [Self]? {
        guard options.acceptsCertificates else { return nil }
        return try await withThrowingTaskGroup { group in
            for user in options.userNames {
                group.addTask { Self(user: user, try await realm.certificate(for: user)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.user < $1.user }
        }
    }
}

/// The variables for the servers and the users of a realm.
enum RealmVariables {
    /// The prefix of all of them, and of the variable for the realm's own commands.
    static let prefix = "KSSO_REALM_"

    /// Returns a name as the end of a variable's name: in upper case, with `_` for each character that is no ASCII letter or digit.
    static func suffix(_ name: String) -> String {
        name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0.uppercased() : "_" }.joined()
    }

    /// Returns the suffix of a user's variable. Users of the first realm are named without their realm.
    static func suffix(user: String, of realm: String, isFirst: Bool) -> String { suffix(isFirst ? user : "\(user)@\(realm)") }

    /// Returns the variables for the web servers. The first server has variables without a suffix. If there are several servers or the
    /// server has a name, each one has variables with its name or, without one, with its number.
    static func web(_ servers: [RealmDescription.Server]) -> [String: String] {
        var variables: [String: String] = [:]
        func add(_ server: RealmDescription.Server, _ end: String) {
            variables["\(prefix)URL\(end)"] = server.url
            variables["\(EnclosingRealm.certificateVariable)\(end)"] = server.certificate
        }
        if let first = servers.first { add(first, "") }
        for (index, server) in servers.enumerated() where servers.count > 1 || server.name != nil {
            add(server, "_\(server.name.map(suffix) ?? "\(index + 1)")")
        }
        return variables
    }

    /// Returns the variables with the certificates of the users.
    static func identities(_ realms: [RealmDescription.Realm]) -> [String: String] {
        var variables: [String: String] = [:]
        for (index, realm) in realms.enumerated() {
            for certificate in realm.certificates ?? [] {
                let suffix = suffix(user: certificate.user, of: realm.name, isFirst: index == 0)
                variables["\(prefix)IDENTITY_\(suffix)"] = certificate.identity
            }
        }
        return variables
    }
}
