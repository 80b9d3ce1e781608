import Foundation

/// Runs a closure with a real Apache that protects a page with the realm's Kerberos.
///
/// Where the tests run as root, the server runs as `www-data`. When the closure returns or throws, the server is dead and its folder is
/// gone; likewise when the task is cancelled, and when the process traps or is killed.
///
/// - Parameters:
///   - realm: The realm, which must outlive the server.
///   - options: How the server asks.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: ``KerberosTestingError`` if a program is missing, the options do not go together or the server does not start; otherwise what
///   the closure throws.
nonisolated(nonsending) public func withProtectedWebServer<R>(
    realm: TestRealm,
    _ options: ProtectedWebServerOptions = .init(),
    _ body: nonisolated(nonsending) (ProtectedWebServer) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    let program = try Program.path(of: "apache2")
    try Program.requireFile("\(ApacheConfiguration.modules)/mod_auth_gssapi.so", package: "libapache2-mod-auth-gssapi")
    let directory = TemporaryFolder.newPath()
    let configuration = ApacheConfiguration(realm: realm, options: options, directory: directory)
    try configuration.check()
    let environment = try configuration.environment()
    return try await DaemonWatcher.withWatcher(making: directory, environment: environment, lastSignal: "TERM") { watcher in
        try await configuration.writeFiles()
        var command = [program, "-f", configuration.path, "-DFOREGROUND"]
        if geteuid() == 0 {
            try await giveToServerAccount(directory, realm: realm)
            let account = ["--reuid=www-data", "--regid=www-data", "--clear-groups"]
            command = [try Program.path(of: "setpriv")] + account + command
        }
        let port = try await start(command, configuration: configuration, watcher: watcher)
        return try await body(ProtectedWebServer(host: options.host, port: port, directory: directory, usesTLS: options.usesTLS))
    }
}

/// Apache refuses to listen on port 0, so ports are tried until one is free; from below those that the kernel gives to clients.
private func start(_ command: [String], configuration: ApacheConfiguration, watcher: DaemonWatcher) async throws -> Int {
    var lastError: any Error = CancellationError()
    for _ in 0..<20 {
        let port = Int.random(in: 20_000..<32_000)
        try configuration.writeMain(port: port)
        let process = try await watcher.start(command)
        do {
            _ = try await ListeningPorts.wait(for: process, needsUDP: false) { configuration.complaints() }
            return port
        } catch let error as KerberosTestingError where error.message.contains("Address already in use") {
            lastError = error
            try await watcher.stop()
            try FileManager.default.removeItem(atPath: "\(configuration.directory)/daemon.log")
        }
    }
    throw lastError
}

private func giveToServerAccount(_ directory: String, realm: TestRealm) async throws {
    _ = try await Command.require(
        "chown",
        ["-R", "www-data:www-data", directory],
        environment: realm.environment,
        scratch: realm.directory
    )
}

extension ApacheConfiguration {
    fileprivate func complaints() -> String {
        let texts = ["daemon.log", "error.log"].compactMap { try? String.contents(ofFile: "\(directory)/\($0)") }
        return texts.joined()
    }
}
