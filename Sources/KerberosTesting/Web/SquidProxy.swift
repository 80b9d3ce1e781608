import Foundation

/// A separate squid for one test: a forward proxy that requires Negotiate (status 407), for plain requests and for CONNECT.
///
/// Created by ``withSquidProxy(realm:_:_:)``. Safe to use from any task until its closure returns.
package struct SquidProxy: Sendable {
    /// The name of the proxy, for which the realm has the service `HTTP/`.
    package let host: String
    package let port: Int
    /// The folder with the configuration and the logs; it is removed with the proxy.
    package let directory: String

    /// Returns the access log, with one line for each request: the status, the method, the URL, the user or `-`, and the client's port.
    package func accessLog() throws -> String { try String.contents(ofFile: "\(directory)/access.log") }
}

/// The options of a ``SquidProxy``.
package struct SquidProxyOptions: Sendable {
    /// The host name of the proxy, in lower case; it must resolve to the realm's ``TestRealm/address``.
    package var host = "localhost"
    /// Whether a connection stays open after a 407 (`auth_param negotiate keep_alive`).
    package var keepsConnection = true
    /// Whether it requires Negotiate at all.
    package var requiresTicket = true
    /// Further names of the realm's address, which squid resolves from a file of its own.
    package var names: [String] = []

    package init() {}
}

/// Runs a closure with a real squid that accepts the realm's tickets with its helper `negotiate_kerberos_auth`.
///
/// If the tests run as root, squid runs as `proxy`. It is stopped and its folder removed when the closure returns or throws.
///
/// - Throws: ``KerberosTestingError`` if squid is not installed or does not start; otherwise what the closure throws.
nonisolated(nonsending) package func withSquidProxy<R>(
    realm: TestRealm,
    _ options: SquidProxyOptions = .init(),
    _ body: nonisolated(nonsending) (SquidProxy) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    let program = try Program.path(of: "squid")
    try Program.requireFile(SquidConfiguration.helper, package: "squid")
    let directory = TemporaryFolder.newPath()
    let configuration = SquidConfiguration(realm: realm, options: options, directory: directory)
    return try await DaemonWatcher.withWatcher(making: directory, environment: configuration.environment, lastSignal: "TERM") { watcher in
        try await configuration.writeFiles()
        let port = try await configuration.start(program, watcher)
        return try await body(SquidProxy(host: options.host, port: port, directory: directory))
    }
}

/// The files in a squid's folder.
private struct SquidConfiguration {
    static let helper = "/usr/lib/squid/negotiate_kerberos_auth"

    let realm: TestRealm
    let options: SquidProxyOptions
    let directory: String

    private var path: String { "\(directory)/squid.conf" }
    private var keytabPath: String { "\(directory)/proxy.keytab" }

    /// The name of squid's shared memory, at most 32 letters and digits. Squids of one name have it in common, and one ended if another
    /// created it at the same time.
    private var serviceName: String { String(UUID().uuidString.filter { $0 != "-" }) }

    var environment: [String: String] {
        realm.environment.merging([
            "KRB5_CONFIG": "\(directory)/krb5.conf", "KRB5_KTNAME": "FILE:\(keytabPath)", "KRB5RCACHENAME": "none:",
        ]) { $1 }
    }

    func writeFiles() async throws {
        let service = "HTTP/\(options.host)"
        let keytab: String
        do {
            keytab = try await realm.keytab(for: service)
        } catch let error as KerberosTestingError where error.code == .commandFailed {
            try await realm.addService(service)
            keytab = try await realm.keytab(for: service)
        }
        try FileManager.default.copyItem(atPath: realm.configurationPath, toPath: "\(directory)/krb5.conf")
        try FileManager.default.moveItem(atPath: keytab, toPath: keytabPath)
        try "\(realm.address) \(([options.host] + options.names).joined(separator: " "))\n".writeFile("\(directory)/hosts")
        guard geteuid() == 0 else { return }
        _ = try await Command.require(
            "chown",
            ["-R", "proxy:proxy", directory],
            environment: realm.environment,
            scratch: realm.directory
        )
    }

    /// Tries ports until one is free, because squid cannot listen on port 0.
    func start(_ program: String, _ watcher: DaemonWatcher) async throws -> Int {
        var lastError: any Error = CancellationError()
        for _ in 0..<20 {
            let port = Int.random(in: 20_000..<32_000)
            try text(port: port).writeFile(path)
            let process = try await watcher.start([program, "-n", serviceName, "-N", "-f", path])
            do {
                _ = try await ListeningPorts.wait(for: process, needsUDP: false) { complaints() }
                return port
            } catch let error as KerberosTestingError where error.message.contains("Address already in use") {
                lastError = error
                try await watcher.stop()
            }
        }
        throw lastError
    }

    private func complaints() -> String {
        ["daemon.log", "cache.log"].compactMap { try? String.contents(ofFile: "\(directory)/\($0)") }.joined()
    }

    private func text(port: Int) -> String {
        """
        http_port \(realm.address):\(port)
        visible_hostname \(options.host)
        cache_effective_user proxy
        pid_filename \(directory)/squid.pid
        cache_log \(directory)/cache.log
        logformat kit %>Hs %rm %ru %un %>p
        access_log stdio:\(directory)/access.log kit
        coredump_dir \(directory)
        netdb_filename none
        cache deny all
        pinger_enable off
        \(options.names.isEmpty ? "" : "hosts_file \(directory)/hosts")
        max_filedescriptors 16384
        shutdown_lifetime 0 seconds
        \(options.requiresTicket ? protection : "http_access allow all")

        """
    }

    private var protection: String {
        """
        auth_param negotiate program \(Self.helper) -k \(keytabPath) -s GSS_C_NO_NAME
        auth_param negotiate children 8 startup=1
        auth_param negotiate keep_alive \(options.keepsConnection ? "on" : "off")
        acl known proxy_auth REQUIRED
        http_access allow known
        http_access deny all
        """
    }
}
