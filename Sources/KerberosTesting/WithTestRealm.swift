import Foundation

/// Runs a closure with a fresh realm: database, principals, keytab, and a KDC that answers.
///
/// The realm is also ``TestRealm/current`` inside. When the closure returns or throws, the KDC is dead and the folder is gone;
/// likewise when the task is cancelled, and when the process traps or is killed. Any number of realms may live at once.
///
/// - Parameters:
///   - options: What the realm starts with.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: ``KerberosTestingError`` if a program is missing or the realm does not start; otherwise what the closure throws.
nonisolated(nonsending) public func withTestRealm<R>(
    _ options: TestRealmOptions = .init(),
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try await withRealm(options, trusting: [:], body)
}

/// Runs a closure with a fresh realm that has these users and services and is otherwise as by default.
///
/// - Parameters:
///   - users: The users and their passwords.
///   - services: The service principals, such as `HTTP/localhost`.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
/// - Throws: As ``withTestRealm(_:_:)``.
nonisolated(nonsending) public func withTestRealm<R>(
    users: [String: String],
    services: [String] = [],
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try await withTestRealm(TestRealmOptions(users: users, services: services), body)
}

/// Makes a realm that shares keys with the realms named: the values are the passwords of both trust principals.
nonisolated(nonsending) func withRealm<R>(
    _ options: TestRealmOptions,
    trusting trusts: [String: String],
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    for program in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit"] { _ = try Program.path(of: program) }
    let directory = TemporaryFolder.newPath()
    let configuration = RealmFiles(options: options, directory: directory, trustedRealms: trusts.keys.sorted())
    let environment = configuration.environment(inheriting: ProcessInfo.processInfo.environment)
    return try await DaemonWatcher.withWatcher(making: directory, environment: environment, lastSignal: "KILL") { watcher in
        let center = KeyDistributionCenter(configuration: configuration, environment: environment, watcher: watcher)
        let realm = TestRealm(center: center, environment: environment)
        try await realm.createDatabase(trusts: trusts)
        try await center.start(clockOffset: options.clockOffset)
        guard options.acceptsPasswordChanges else { return try await TestRealm.$current.withValue(realm) { try await body(realm) } }
        // A watcher holds one daemon, and the folder in which its output goes.
        let folder = "\(directory)/administration"
        return try await DaemonWatcher.withWatcher(making: folder, environment: environment, lastSignal: "KILL") { watcher in
            try await center.startAdministration(watcher, log: "\(folder)/daemon.log")
            return try await TestRealm.$current.withValue(realm) { try await body(realm) }
        }
    }
}

extension TestRealm {
    /// Creates the database and all the first principals, in two processes.
    fileprivate func createDatabase(trusts: [String: String]) async throws {
        let configuration = center.configuration
        try configuration.client(port: nil, peers: []).writeFile(configuration.clientPath)
        try configuration.kdc(ports: ListeningPorts()).writeFile(configuration.kdcPath)
        let masterPassword = randomPassword()
        _ = try await Command.require(
            "kdb5_util",
            ["-r", name, "create", "-s"],
            environment: environment,
            input: "\(masterPassword)\n\(masterPassword)\n",
            scratch: directory
        )
        let users = configuration.options.users.sorted { $0.key < $1.key }.map { addUserLine($0.key, password: $0.value, flags: []) }
        let services = configuration.options.services.flatMap { addServiceLines($0) }
        let keys = trusts.sorted { $0.key < $1.key }.flatMap { other, password in
            ["krbtgt/\(other)@\(name)", "krbtgt/\(name)@\(other)"].map {
                addUserLine($0, password: password, flags: ["-requires_preauth"])
            }
        }
        let lines = users + services + keys
        if !lines.isEmpty { try await administer(lines) }
    }
}

/// A password that nobody has to know.
func randomPassword() -> String {
    UUID().uuidString + UUID().uuidString
}
