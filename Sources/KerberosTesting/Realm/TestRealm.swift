import Foundation
public import Kerberos

/// A separate Kerberos realm for tests: a real MIT KDC with a database in a private temporary folder.
///
/// Create one with ``withTestRealm(_:_:)``, or with ``withExistingRealm(_:_:)`` for a realm that the kit does not run. It changes no
/// process-wide state, so that several realms can be used at the same time. Safe to use from any task until its closure returns.
public struct TestRealm: Sendable {
    /// The realm of the current test or closure, if there is one.
    @TaskLocal public static var current: TestRealm?

    /// The realm's name, such as `EXAMPLE.TEST`.
    public let name: String
    /// The private folder (mode 0700) with the database, the configuration, keytabs and caches; it is removed with the realm.
    public let directory: String
    /// The path of the realm's krb5.conf.
    public let configurationPath: String
    /// The environment in which krb5 programs use only this realm: this process's own, with `KRB5_CONFIG`, `KRB5_KDC_PROFILE`,
    /// `KRB5CCNAME`, `KRB5_KTNAME`, `KRB5_CLIENT_KTNAME`, `KRB5RCACHENAME`, `KRB5RCACHEDIR` and `KSSO_RUNTIME_DIR` replaced. The last one
    /// separates `ksso` and `SingleSignOn` from the user's own agent and caches.
    public let environment: [String: String]

    let files: RealmFiles
    /// The KDCs that the kit runs; nil if it does not run the realm.
    let ownCenter: KeyDistributionCenter?

    init(files: RealmFiles, center: KeyDistributionCenter?, environment: [String: String]) {
        self.files = files
        ownCenter = center
        self.environment = environment
        name = files.options.name
        directory = files.directory
        configurationPath = files.clientPath
    }

    /// The KDCs and the database, for calls that change them; throws if the kit does not run the realm.
    var center: KeyDistributionCenter {
        get throws {
            if let ownCenter { return ownCenter }
            let message =
                "\(name) is an existing realm, whose KDC and database a test cannot change. Use withTestRealm for that."
            throw KerberosTestingError(.notAdministered, message)
        }
    }

    /// The address at which the realm's servers listen: ``TestRealmOptions/address``.
    public var address: String { files.options.address }
    /// The KDC's UDP and TCP port at ``address``; the first KDC's if there are several.
    ///
    /// For a realm of ``withExistingRealm(_:_:)`` it is 0, which is not a valid port; only its krb5.conf locates its KDC.
    public var kdcPort: Int { kdcPorts.first ?? 0 }
    /// The ports of all KDCs, in krb5.conf's order; empty if the kit does not run the realm. They do not change until the realm ends.
    public var kdcPorts: [Int] { ownCenter?.ports ?? [] }
    /// The path of the keytab with the keys of all services.
    public var keytabPath: String { files.keytabPath }
}

extension TestRealm: CustomStringConvertible {
    /// The name, the folder and, if the kit runs the KDC, its address.
    public var description: String { ownCenter == nil ? "\(name) in \(directory)" : "\(name) at \(address):\(kdcPort) in \(directory)" }
}

extension TestRealm {
    /// The realm's configuration for `KerberosClient`, based only on the realm's krb5.conf and not on the system-wide one.
    ///
    /// Its default cache is also the one that programs in the realm's environment use.
    public var configuration: RealmConfiguration {
        RealmConfiguration(realm: name, base: .files([configurationPath]), defaultCacheName: "FILE:\(directory)/ccache")
    }

    /// Returns ``configuration`` with another default cache.
    public func configuration(defaultCacheName: String) -> RealmConfiguration {
        var configuration = configuration
        configuration.defaultCacheName = defaultCacheName
        return configuration
    }

    /// Returns ``configuration`` with a clock offset in whole seconds; a negative one sets the client's clock back.
    ///
    /// As with any wrong clock, libkrb5 uses the KDC's time once it has received it (`kdc_timesync`). Set that relation to `0` in
    /// ``TestRealmOptions/clientRelations`` to prevent this.
    public func configuration(clockOffset: Duration) -> RealmConfiguration {
        var configuration = configuration
        configuration.clockOffset = clockOffset
        return configuration
    }
}

extension TestRealm {
    /// The path of libkrb5's trace (`KRB5_TRACE`) of programs started with ``run(_:_:environment:input:clockOffset:deadline:)``.
    ///
    /// It shows what libkrb5 tried and why, and contains no keys. Other programs and clients can be configured to write there too.
    public var tracePath: String { "\(directory)/trace.log" }

    /// Returns the trace so far; empty if there is none.
    public func trace() throws -> String {
        try String.contents(ofFile: tracePath)
    }

    /// Creates a client of the realm in this process, whose trace also goes to ``tracePath``.
    ///
    /// - Parameter clockOffset: The clock offset of the client; see ``configuration(clockOffset:)``.
    public func makeClient(clockOffset: Duration = .zero) -> KerberosClient { makeClient(configuration(clockOffset: clockOffset)) }

    /// Creates a client in this process from a variant of ``configuration``, whose trace also goes to ``tracePath``.
    public func makeClient(_ configuration: RealmConfiguration) -> KerberosClient {
        let path = tracePath
        return KerberosClient(configuration) { line in
            // Opened for each line, as in libkrb5: the file is removed with the realm, and a client may outlive it.
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            _ = Array(line.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }
    }
}

extension TestRealm {
    /// Returns the names and contents of the files that help to diagnose a failure, without empty ones.
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

    /// Checks that the programs and plugins that a realm needs are installed.
    ///
    /// - Parameter options: The realm's options, some of which need additional programs.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing`; the message contains the name of the Debian package.
    public static func checkPrograms(for options: TestRealmOptions = .init()) throws {
        try checkPrograms(for: options) { _ = try Program.path(of: $0) }
    }

    /// Checks the programs and plugins with another lookup function, which throws if a program is missing.
    package static func checkPrograms(for options: TestRealmOptions, _ find: (String) throws -> Void) throws {
        for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "setsid"] { try find(program) }
        if options.acceptsPasswordChanges { try find("kadmind") }
        if options.acceptsCertificates {
            try find("openssl")
            _ = try LibraryModule.pkinit.modules(in: options.pluginDirectory)
        }
    }
}
