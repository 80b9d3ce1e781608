import Foundation

/// Runs a closure with a realm that the kit does not run; its KDC is used but not changed.
///
/// Programs, clients and both web servers work as with the kit's own realms. Caches, traces and copies of krb5.conf and the keytab are in a
/// new folder (mode 0700). It is removed when the closure returns or throws, when the task is canceled, and when the process traps or is
/// killed. Calls that would change a KDC or its database throw ``KerberosTestingError`` with the code `notAdministered`. Inside the
/// closure, the realm is also ``TestRealm/current``.
///
/// - Parameters:
///   - realm: The realm. Its krb5.conf may set anything but the default realm, cache and keytabs, which the kit sets.
///   - body: The closure, which runs on the caller's actor.
/// - Returns: The closure's result.
/// - Throws: ``KerberosTestingError`` with the code `invalidArgument` if a file cannot be read; otherwise what the closure throws.
nonisolated(nonsending) public func withExistingRealm<R>(
    _ realm: ExistingRealm,
    _ body: nonisolated(nonsending) (TestRealm) async throws -> R
) async throws -> R {
    try Task.checkCancellation()
    let files = RealmFiles(options: TestRealmOptions(name: realm.name), directory: TemporaryFolder.newPath())
    let configuration = files.client(of: try contents(of: realm.configurationPath))
    let keytab = try contents(of: realm.keytabPath)
    let environment = files.environment(inheriting: ProcessInfo.processInfo.environment)
    return try await DaemonWatcher.withWatcher(making: files.directory, environment: environment, lastSignal: "KILL") { _ in
        try configuration.write(to: URL(filePath: files.clientPath))
        try keytab.write(to: URL(filePath: files.keytabPath))
        let realm = TestRealm(files: files, center: nil, environment: environment)
        return try await TestRealm.$current.withValue(realm) { try await body(realm) }
    }
}

private func contents(of path: String) throws -> Data {
    do {
        return try Data(contentsOf: URL(filePath: path))
    } catch {
        throw KerberosTestingError(.invalidArgument, "\(path) cannot be read; pass a readable krb5.conf and keytab.", cause: error)
    }
}

extension RealmFiles {
    /// Returns the krb5.conf of an existing realm. The kit's relations come first, because the first of several relations applies.
    fileprivate func client(of original: Data) -> Data {
        let own = """
            [libdefaults]
                default_realm = \(options.name)
                default_ccache_name = FILE:\(directory)/ccache
                default_keytab_name = FILE:\(keytabPath)
                default_client_keytab_name = FILE:\(directory)/client.keytab


            """
        return Data(own.utf8) + original
    }
}

extension TestRealm {
    /// Rejects a keytab without keys of a principal early, because its clients would only fail much later.
    func requireKeys(of principal: String) async throws {
        let list = try await Command.require("klist", ["-k", keytabPath], environment: environment, scratch: directory).output
        let full = principal.contains("@") ? principal : "\(principal)@\(name)"
        guard list.split(separator: "\n").contains(where: { $0.split(separator: " ").dropFirst().first == full[...] }) else {
            throw KerberosTestingError(.invalidArgument, "The keytab of \(name) has no keys of \(full): \(list)")
        }
    }
}

/// A realm that the kit does not run, with the files that a test needs.
public struct ExistingRealm: Sendable, Hashable {
    /// The realm's name, such as `AD.EXAMPLE`.
    public var name: String
    /// The path of a krb5.conf with which clients find its KDC.
    public var configurationPath: String
    /// The path of a keytab with the keys of the services that tests run, such as `HTTP/localhost`.
    public var keytabPath: String

    /// Creates a description of a realm; reads no file.
    public init(_ name: String, configurationPath: String, keytabPath: String) {
        self.name = name
        self.configurationPath = configurationPath
        self.keytabPath = keytabPath
    }
}
