import Foundation
import Kerberos

/// What a test domain contains.
package struct TestDomainOptions: Sendable, Hashable {
    /// An account.
    package struct User: Sendable, Hashable {
        /// The name for signing in (`sAMAccountName`).
        package var name: String
        /// The password, which must meet the domain's rules: 7 characters of three kinds.
        package var password: String
        /// The user principal name; nil is the name in the domain.
        package var principalName: String?
        /// Other attributes, such as `homeDirectory`.
        package var attributes: [String: String]

        /// Creates an account.
        package init(_ name: String, password: String, principalName: String? = nil, attributes: [String: String] = [:]) {
            self.name = name
            self.password = password
            self.principalName = principalName
            self.attributes = attributes
        }
    }

    /// An entry of the directory.
    package struct Entry: Sendable, Hashable {
        /// The name in the domain, such as `CN=Strict,CN=Password Settings Container,CN=System`.
        package var name: String
        /// The attributes. `$domain` in a value stands for the domain's distinguished name.
        package var attributes: [String: [String]]

        /// Creates an entry.
        package init(_ name: String, _ attributes: [String: [String]]) {
            self.name = name
            self.attributes = attributes
        }
    }

    /// A controller that DNS lists, in addition to the one that runs.
    package struct ListedController: Sendable, Hashable {
        /// The host name without the domain.
        package var name: String
        /// The address. The test may run a server there.
        package var address: String
        /// The site; nil lists it only for the whole domain.
        package var site: String?

        /// Creates a controller.
        package init(_ name: String, address: String, site: String? = nil) {
            self.name = name
            self.address = address
            self.site = site
        }
    }

    /// The realm; its DNS name is the same in lower case.
    package var name = "AD.TEST"
    /// The NetBIOS name.
    package var netBIOSName = "ADTEST"
    /// The accounts.
    package var users: [User]
    /// The services whose keys are in the keytab.
    package var services: [String]
    /// The subnets of each site, in addition to the default site. The running controller is listed for all of them.
    package var sites: [String: [String]]
    /// More entries of the directory, added after the accounts.
    package var entries: [Entry] = []
    /// Attributes of the domain's own entry, such as `minPwdLength`.
    package var attributes: [String: String] = [:]
    /// The certificate of the controller for TLS; nil offers no TLS.
    package var certificate: ServerCertificate?
    /// The host name in the certificate; nil is the controller's.
    package var certificateHost: String?
    /// Whether users can sign in with certificates (PKINIT), and the folder of libkrb5's plugins with the one for it.
    package var acceptsCertificates = false
    /// As in ``TestRealmOptions``.
    package var pluginDirectory: String?
    /// More controllers in DNS.
    package var controllers: [ListedController] = []

    /// Creates options.
    package init(users: [User] = [], services: [String] = [], sites: [String: [String]] = [:]) {
        self.users = users
        self.services = services
        self.sites = sites
    }
}

/// A domain of Active Directory with one controller, Samba's, on a loopback address of its own: KDC, password server, LDAP and DNS.
package struct TestDomain: Sendable {
    /// The domain as a realm. Its krb5.conf names the controller.
    package let realm: TestRealm
    /// The address of the controller and of its name server.
    package let address: String
    /// The controller's host name.
    package let host: String
    /// The certificate that authenticates the controller, in PEM, if the options have one.
    package var certificatePath: String { "\(directory)/controller.pem" }
    fileprivate let directory: String
}

extension TestDomain {
    /// Creates a certificate that names a user by the user principal name, as Windows issues them, in a domain that accepts certificates.
    package func certificate(for userPrincipalName: String) async throws -> ClientCertificate {
        let files = RealmCertificates(realm: realm.name, directory: "\(directory)/certificates", environment: realm.environment)
        let path = "\(files.directory)/\(UUID().uuidString)"
        try await files.issue(URL(filePath: path).lastPathComponent, to: .userPrincipalName(userPrincipalName), for: .card)
        return ClientCertificate(certificatePath: "\(path).pem", keyPath: "\(path).key", identity: "FILE:\(path).pem,\(path).key")
    }

    /// Replaces attributes of an account, as an administrator does.
    ///
    /// - Parameter isUnchecked: Whether to write to the database without Samba's checks, which keep a domain consistent.
    package func set(_ attributes: [String: some Collection<String>], of user: String, isUnchecked: Bool = false) async throws {
        let script = """
            import json, sys
            import ldb
            from samba.auth import system_session
            from samba.param import LoadParm
            from samba.samdb import SamDB

            folder, user, attributes, is_unchecked = json.load(sys.stdin)
            settings = LoadParm()
            settings.load(folder + "/etc/smb.conf")
            database = SamDB(url=folder + "/private/sam.ldb", session_info=system_session(), lp=settings)
            change = ldb.Message(database.search(expression="(sAMAccountName=%s)" % user, attrs=[])[0].dn)
            for attribute, values in attributes.items():
                change[attribute] = ldb.MessageElement(values, ldb.FLAG_MOD_REPLACE, attribute)
            if is_unchecked:
                part = str(database.get_default_basedn()).upper()
                database = ldb.Ldb(folder + "/private/sam.ldb.d/" + part + ".ldb", options=["modules:"])
            database.modify(change)
            """
        let path = "\(directory)/set-\(UUID().uuidString).py"
        try script.writeFile(path)
        let values = attributes.mapValues { Array($0) }
        let input = try JSONSerialization.data(withJSONObject: [directory, user, values, isUnchecked] as [Any])
        _ = try await Command.require(
            "/usr/bin/python3",
            [path],
            environment: DomainFiles.environment,
            input: String(decoding: input, as: UTF8.self),
            scratch: directory
        )
    }

    /// Why no domain can be run on this machine; nil if one can.
    package static var obstacle: String? {
        guard geteuid() == 0 else { return "a domain controller listens on ports below 1024, which requires root" }
        let files = FileManager.default
        let libraries = ((try? files.contentsOfDirectory(atPath: "/usr/lib")) ?? []).filter { $0.contains("-linux-") }
        let needed = [
            ("samba", ["/usr/sbin/samba"]), ("samba-ad-provision", ["/usr/share/samba/setup"]),
            ("samba-dsdb-modules", libraries.map { "/usr/lib/\($0)/samba/ldb/samba_dsdb.so" }),
        ]
        let missing = needed.filter { !$0.1.contains(where: files.fileExists) }.map(\.0)
        return missing.isEmpty ? nil : "\(missing.joined(separator: " ")) is not installed"
    }

    /// An address of the loopback network that is probably used by nothing else.
    package static func freeAddress() -> String {
        "127.\(Int.random(in: 64...126)).\(Int.random(in: 0...255)).\(Int.random(in: 1...254))"
    }
}

/// Runs a closure with a new domain, which takes a few seconds. Its controller has stopped, and its files are removed, when the closure
/// returns or throws, when the task is canceled, and when the process traps or is killed. Inside the closure, the domain is also
/// ``TestRealm/current``.
///
/// - Throws: ``KerberosTestingError`` with the code `programMissing` if ``TestDomain/obstacle`` is not nil; otherwise what the closure
///   throws.
nonisolated(nonsending) package func withTestDomain<R>(
    _ options: TestDomainOptions,
    _ body: nonisolated(nonsending) (TestDomain) async throws -> R
) async throws -> R {
    if let obstacle = TestDomain.obstacle { throw KerberosTestingError(.programMissing, "No domain can be run: \(obstacle).") }
    let files = DomainFiles(options: options, directory: TemporaryFolder.newPath(), address: TestDomain.freeAddress())
    let environment = DomainFiles.environment
    // Samba's KDC reads its certificate's settings in the file of this variable.
    let own = options.acceptsCertificates ? environment.merging(["KRB5_CONFIG": files.controllerPath]) { $1 } : environment
    return try await DaemonWatcher.withWatcher(making: files.directory, environment: own, lastSignal: "TERM") { watcher in
        try await files.provision(environment)
        let process = try await watcher.start(files.command)
        try await files.waitForController(process)
        let realm = ExistingRealm(options.name, configurationPath: files.clientPath, keytabPath: files.keytabPath)
        return try await withExistingRealm(realm) { realm in
            let domain = TestDomain(realm: realm, address: files.address, host: files.host, directory: files.directory)
            return try await body(domain)
        }
    }
}

/// The files of a domain and its controller's command.
private struct DomainFiles {
    let options: TestDomainOptions
    let directory: String
    let address: String

    /// The database is removed at the end, so that it need not survive a crash of the machine.
    static var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(["TDB_NO_FSYNC": "1", "LDB_MODULES_DISABLE_DEEPBIND": "1"]) { $1 }
    }

    var host: String { "dc1.\(options.name.lowercased())" }
    var configurationPath: String { "\(directory)/etc/smb.conf" }
    var clientPath: String { "\(directory)/client.conf" }
    var keytabPath: String { "\(directory)/services.keytab" }
    var controllerPath: String { "\(directory)/controller.conf" }
    private var certificates: RealmCertificates {
        RealmCertificates(realm: options.name, directory: "\(directory)/certificates", environment: Self.environment)
    }

    /// The controller without the services that tests do not need, such as file sharing.
    var command: [String] {
        let settings = [
            "interfaces=\(address)/8", "bind interfaces only=yes", "server services=kdc ldap cldap dns", "pid directory=\(directory)/run",
            "ldap server require strong auth=allow_sasl_over_tls", "tls enabled=\(options.certificate == nil ? "no" : "yes")",
            "tls certfile=\(directory)/controller.pem",
            "tls keyfile=\(directory)/controller.key", "tls cafile=\(directory)/controller.pem", "ncalrpc dir=\(directory)/run/ncalrpc",
            "logging=stdout", "allow dns updates=disabled", "log level=1",
        ]
        return ["/usr/sbin/samba", "--interactive", "--model=single", "--debug-stdout", "--configfile=\(configurationPath)"]
            + settings.map { "--option=\($0)" }
    }

    /// Creates the database, the keytab, and a krb5.conf that names the controller.
    func provision(_ environment: [String: String]) async throws {
        for folder in ["etc", "run"] {
            try FileManager.default.createDirectory(atPath: "\(directory)/\(folder)", withIntermediateDirectories: true)
        }
        let script = "\(directory)/provision.py"
        try DomainProvision.script.writeFile(script)
        let encoder = JSONEncoder()
        let plan = String(decoding: try encoder.encode(DomainProvision(options, self.directory, address: address)), as: UTF8.self)
        if let certificate = options.certificate {
            try await certificate.write(
                "\(directory)/controller.pem",
                key: "\(directory)/controller.key",
                host: options.certificateHost ?? host,
                environment: environment,
                scratch: directory
            )
        }
        if options.acceptsCertificates { try await makeCertificates() }
        // Samba's modules belong to the system's own Python.
        _ = try await Command.require("/usr/bin/python3", [script], environment: environment, input: plan, scratch: directory)
        try """
        [libdefaults]
            dns_lookup_kdc = false
            dns_lookup_realm = false
            rdns = false
            \(options.acceptsCertificates ? "pkinit_anchors = FILE:\(certificates.directory)/ca.pem" : "")
        [plugins]
        \(try options.acceptsCertificates ? plugins() : "")
        [realms]
            \(options.name) = {
                kdc = \(address)
                kpasswd_server = \(address)
            }
        [domain_realm]
            localhost = \(options.name)
            .\(options.name.lowercased()) = \(options.name)

        """.writeFile(clientPath)
    }

    private func plugins() throws -> String {
        let modules = try LibraryModule.pkinit.modules(in: options.pluginDirectory)
        return modules.sorted { $0.key < $1.key }.map { "    \($0.key) = {\n        module = \($0.value)\n    }\n" }.joined()
    }

    /// Creates the authority and the controller's certificate, with the settings of Heimdal's KDC, which Samba contains.
    private func makeCertificates() async throws {
        try await certificates.makeAuthority()
        let folder = certificates.directory
        try """
        [libdefaults]
            default_realm = \(options.name)
        [kdc]
            enable-pkinit = yes
            pkinit_identity = FILE:\(folder)/kdc.pem,\(folder)/kdc.key
            pkinit_anchors = FILE:\(folder)/ca.pem
            pkinit_principal_in_certificate = yes
            pkinit_win2k_require_binding = yes

        """.writeFile(controllerPath)
    }

    /// Returns when the KDC and the directory listen.
    func waitForController(_ process: Int) async throws {
        // The name server is the last one that starts.
        for port in [88, 389, 53] {
            let isReady = try await pollConnection(port: port, of: process)
            guard isReady else {
                let log = (try? String.contents(ofFile: "\(directory)/daemon.log")) ?? ""
                throw KerberosTestingError(
                    .serverNotReady,
                    "The domain controller does not listen on \(address):\(port): \(log.suffix(2000))"
                )
            }
        }
    }

    private func pollConnection(port: Int, of process: Int) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if LoopbackPort.accepts(address, port: port) { return true }
            guard FileManager.default.fileExists(atPath: "/proc/\(process)") else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}

/// Connects to a port of a loopback address, which succeeds or fails at once.
private enum LoopbackPort {
    static func accepts(_ address: String, port: Int) -> Bool {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = in_port_t(port).bigEndian
        guard inet_pton(AF_INET, address, &name.sin_addr) == 1 else { return false }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
