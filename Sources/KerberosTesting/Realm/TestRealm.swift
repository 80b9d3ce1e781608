import Foundation
public import Kerberos

/// A Kerberos realm of its own: a real MIT KDC with a database in a private temporary folder.
///
/// Get one from ``withTestRealm(_:_:)``, or from ``withExistingRealm(_:_:)`` for a realm that somebody else runs. It is a value; nothing of
/// it is process-wide, so that several realms live side by side. It is safe to use from any task until the closure that it was made for
/// returns.
public struct TestRealm: Sendable {
    /// The realm of the test or closure that runs now, if there is one.
    @TaskLocal public static var current: TestRealm?

    /// The realm's name, such as `EXAMPLE.TEST`.
    public let name: String
    /// The private folder (mode 0700) that holds the database, the configuration, keytabs and caches; it goes with the realm.
    public let directory: String
    /// The realm's krb5.conf.
    public let configurationPath: String
    /// The environment in which krb5 programs see this realm only: this process's own, with `KRB5_CONFIG`, `KRB5_KDC_PROFILE`,
    /// `KRB5CCNAME`, `KRB5_KTNAME`, `KRB5_CLIENT_KTNAME`, `KRB5RCACHENAME` and `KRB5RCACHEDIR` replaced.
    public let environment: [String: String]

    let files: RealmFiles
    /// The KDCs that the kit runs; nil where somebody else runs the realm's.
    let ownCenter: KeyDistributionCenter?

    init(files: RealmFiles, center: KeyDistributionCenter?, environment: [String: String]) {
        self.files = files
        ownCenter = center
        self.environment = environment
        name = files.options.name
        directory = files.directory
        configurationPath = files.clientPath
    }

    /// The KDCs and the database, for what only their owner may do.
    var center: KeyDistributionCenter {
        get throws {
            if let ownCenter { return ownCenter }
            let message =
                "\(name) is run by somebody else: its KDC and its database are not for a test to change. Use withTestRealm for that."
            throw KerberosTestingError(.notAdministered, message)
        }
    }

    /// Where the realm's servers listen: ``TestRealmOptions/address``.
    public var address: String { files.options.address }
    /// The KDC's port at ``address``, for UDP and TCP; the first one's if there are several.
    ///
    /// A realm that somebody else runs (``withExistingRealm(_:_:)``) has 0 here, which is no port: where its KDC is, only its krb5.conf
    /// knows.
    public var kdcPort: Int { kdcPorts.first ?? 0 }
    /// The ports of all the KDCs, in krb5.conf's order; none for a realm that somebody else runs. They stay the same until the realm ends.
    public var kdcPorts: [Int] { ownCenter?.ports ?? [] }
    /// The keytab with the keys of all the services.
    public var keytabPath: String { files.keytabPath }
}

extension TestRealm: CustomStringConvertible {
    /// The name, the address where the kit runs the KDC, and the folder.
    public var description: String { ownCenter == nil ? "\(name) in \(directory)" : "\(name) at \(address):\(kdcPort) in \(directory)" }
}

extension TestRealm {
    /// The realm as a value for `KerberosClient`, over the realm's own krb5.conf and nothing of the machine's.
    ///
    /// The default cache is the one that the programs run in the realm's environment use too.
    public var configuration: RealmConfiguration {
        RealmConfiguration(realm: name, base: .files([configurationPath]), defaultCacheName: "FILE:\(directory)/ccache")
    }

    /// The same, with another default cache.
    public func configuration(defaultCacheName: String) -> RealmConfiguration {
        var configuration = configuration
        configuration.defaultCacheName = defaultCacheName
        return configuration
    }

    /// The same for a client whose clock is wrong, in whole seconds: it goes ahead or, where negative, behind.
    ///
    /// As with any wrong clock, libkrb5 goes by the KDC's once this has told it (`kdc_timesync`): with that relation set to `0` in
    /// ``TestRealmOptions/clientRelations`` it never does.
    public func configuration(clockOffset: Duration) -> RealmConfiguration {
        var configuration = configuration
        configuration.clockOffset = clockOffset
        return configuration
    }
}

extension TestRealm {
    /// The file to which programs that ``run(_:_:environment:input:clockOffset:deadline:)`` starts write libkrb5's trace (`KRB5_TRACE`).
    ///
    /// It says what libkrb5 tried and why; it holds no keys. Other programs, and clients in process, write there if they are told to.
    public var tracePath: String { "\(directory)/trace.log" }

    /// The trace so far; empty if there is none.
    public func trace() throws -> String {
        try String.contents(ofFile: tracePath)
    }

    /// A client of the realm in this process, whose trace goes to ``tracePath`` too.
    ///
    /// - Parameter clockOffset: How far the client takes the machine's clock to be off, as ``configuration(clockOffset:)`` says.
    public func makeClient(clockOffset: Duration = .zero) -> KerberosClient { makeClient(configuration(clockOffset: clockOffset)) }

    /// A client in this process of what was made of ``configuration``, whose trace goes to ``tracePath`` too.
    public func makeClient(_ configuration: RealmConfiguration) -> KerberosClient {
        let path = tracePath
        return KerberosClient(configuration) { line in
            // Opened for each line, like libkrb5's own: the file goes with the realm, and a client may outlive it.
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            _ = Array(line.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}

extension TestRealm {
    /// What shows why something went wrong in the realm: names of files and what is in them now, empty ones left out.
    package func diagnosticFiles() -> [(name: String, text: String)] {
        let configuration = files
        let numbers = Array(0..<configuration.options.kdcCount)
        let paths =
            [configuration.logPath(nil)] + (numbers.count > 1 ? numbers.map(configuration.logPath) : [])
            + numbers.map { "\(directory)/\(DaemonWatcher.logName($0))" } + [tracePath, configurationPath]
            + numbers.map(configuration.kdcPath)
        return paths.compactMap { path in
            guard let text = try? String.contents(ofFile: path), !text.isEmpty else { return nil }
            return (String(path.dropFirst(directory.count + 1)), text)
        }
    }

    /// Checks that the programs and plugins are there that a realm is made of.
    ///
    /// - Parameter options: What the realm would start with: some of it needs more.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing`; the message names the Debian package.
    public static func checkPrograms(for options: TestRealmOptions = .init()) throws {
        try checkPrograms(for: options) { _ = try Program.path(of: $0) }
    }

    /// The same, with one's own look for a program, which throws where it is missing.
    package static func checkPrograms(for options: TestRealmOptions, _ find: (String) throws -> Void) throws {
        for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "setsid"] { try find(program) }
        if options.acceptsPasswordChanges { try find("kadmind") }
        if options.acceptsCertificates {
            try find("openssl")
            _ = try LibraryModule.pkinit.modules(in: options.pluginDirectory)
        }
    }
}
