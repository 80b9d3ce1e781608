import Foundation

/// Runs a closure with a fresh realm: a database, principals, a keytab, and a running KDC.
///
/// Inside the closure, the realm is also ``TestRealm/current``. The KDC is stopped and the folder removed when the closure returns or
/// throws, when the task is canceled, and when the process traps or is killed. Any number of realms can run at the same time.
///
/// - Parameters:
///   - options: The options of the realm.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: ``KerberosTestingError`` if a program is missing or the realm does not start; otherwise what the closure throws.
nonisolated(nonsending) public func withTestRealm<R>(
    _ options: TestRealmOptions = .init(),
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try await withRealm(options, links: RealmLinks(), body)
}

/// Runs a closure with a fresh realm that has these users and services, and default options otherwise.
///
/// - Parameters:
///   - users: The users and their passwords.
///   - services: The service principals, such as `HTTP/localhost`.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: The errors of ``withTestRealm(_:_:)``.
nonisolated(nonsending) public func withTestRealm<R>(
    users: [String: String],
    services: [String] = [],
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try await withTestRealm(TestRealmOptions(users: users, services: services), body)
}

/// Runs a closure with a fresh realm that has links to other realms.
nonisolated(nonsending) func withRealm<R>(
    _ options: TestRealmOptions,
    links: RealmLinks,
    networks: [KDCNetwork] = [],
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    guard options.kdcCount > 0 else { throw KerberosTestingError(.invalidArgument, "A realm has at least one KDC.") }
    guard !options.faultProxy || networks.count == options.kdcCount else {
        return try await KDCNetwork.withNetworks(of: options.name, at: options.address, count: options.kdcCount) {
            try await withRealm(options, links: links, networks: $0, body)
        }
    }
    try TestRealm.checkPrograms(for: options)
    var options = options
    if options.acceptsCertificates {
        options.pluginModules.merge(try LibraryModule.pkinit.modules(in: options.pluginDirectory)) { own, _ in own }
    }
    let directory = TemporaryFolder.newPath()
    let configuration = RealmFiles(options: options, directory: directory, links: links)
    let environment = configuration.environment(inheriting: ProcessInfo.processInfo.environment)
    return try await DaemonWatcher.withWatcher(making: directory, environment: environment, lastSignal: "KILL") { watcher in
        let center = try KeyDistributionCenter(configuration: configuration, environment: environment, watcher: watcher, networks: networks)
        let realm = TestRealm(files: configuration, center: center, environment: environment)
        if options.acceptsCertificates { try await RealmCertificates(configuration, environment: environment).makeAuthority() }
        let lines = try realm.firstLines(keys: links.keys)
        try center.writeClientConfiguration()
        try await realm.createDatabase()
        try await center.start(clockOffset: options.clockOffset) { if !lines.isEmpty { try await realm.administer(lines) } }
        guard options.acceptsPasswordChanges else { return try await TestRealm.$current.withValue(realm) { try await body(realm) } }
        // kadmind has its own watcher and folder, because it and the first KDC are both daemon 0 and write to daemon.log.
        let folder = "\(directory)/administration"
        return try await DaemonWatcher.withWatcher(making: folder, environment: environment, lastSignal: "KILL") { watcher in
            try await center.startAdministration(watcher, log: "\(folder)/daemon.log")
            return try await TestRealm.$current.withValue(realm) { try await body(realm) }
        }
    }
}

extension TestRealm {
    /// Creates the database, which contains the realm's own principals.
    fileprivate func createDatabase() async throws {
        try files.kdc(port: kdcPort).writeFile(files.kdcPath)
        let masterPassword = randomPassword()
        _ = try await Command.require(
            "kdb5_util",
            ["-r", name, "create", "-s"],
            environment: environment,
            input: "\(masterPassword)\n\(masterPassword)\n",
            scratch: directory
        )
    }

    /// Returns kadmin's commands for all initial principals.
    fileprivate func firstLines(keys trustKeys: [String: String]) throws -> [String] {
        let options = files.options
        let users = options.users.sorted { $0.key < $1.key }.map { addUserLine($0.key, password: $0.value, flags: []) }
        let services = options.services.flatMap { addServiceLines($0) }
        let keys = trustKeys.sorted { $0.key < $1.key }.map { addUserLine($0.key, password: $0.value, flags: ["-requires_preauth"]) }
        let anonymous = options.acceptsCertificates ? ["add_principal -randkey WELLKNOWN/ANONYMOUS"] : []
        return try users + services + addLines(options) + keys + anonymous
    }
}

/// Returns a random password.
func randomPassword() -> String {
    UUID().uuidString + UUID().uuidString
}
