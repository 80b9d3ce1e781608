import Foundation

/// Runs a closure with a realm that somebody else runs: its KDC is used and left as it is.
///
/// Programs, clients and both web servers work on it as on a realm of the kit's own; caches, traces and copies of krb5.conf and keytab are
/// in a folder of its own (mode 0700), which goes when the closure returns or throws, when the task is cancelled, and when the process
/// traps or is killed. What changes a KDC or its database throws ``KerberosTestingError`` with the code `notAdministered`. The realm is
/// also ``TestRealm/current`` inside.
///
/// - Parameters:
///   - realm: The realm. Its krb5.conf may set anything but the default realm, cache and keytabs, which are this one's.
///   - body: The closure, which runs where the caller runs.
/// - Returns: What the closure returns.
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
        throw KerberosTestingError(.invalidArgument, "\(path) cannot be read; name a krb5.conf and a keytab that can.", cause: error)
    }
}

extension RealmFiles {
    /// krb5.conf of a realm that somebody else runs. Of two relations of one name the first counts, so that what is ours stands first.
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
    /// Refuses a keytab that cannot serve a principal, of which its clients would learn much later.
    func requireKeys(of principal: String) async throws {
        let list = try await Command.require("klist", ["-k", keytabPath], environment: environment, scratch: directory).output
        let full = principal.contains("@") ? principal : "\(principal)@\(name)"
        guard list.split(separator: "\n").contains(where: { $0.split(separator: " ").dropFirst().first == full[...] }) else {
            throw KerberosTestingError(.invalidArgument, "The keytab of \(name) has no keys of \(full): \(list)")
        }
    }
}

/// A realm that somebody else runs, and what a test has to know of it.
public struct ExistingRealm: Sendable, Hashable {
    /// The realm's name, such as `AD.EXAMPLE`.
    public var name: String
    /// A krb5.conf by which clients find its KDC.
    public var configurationPath: String
    /// A keytab with the keys of the services that tests run, such as `HTTP/localhost`.
    public var keytabPath: String

    /// Describes a realm; nothing is read yet.
    public init(_ name: String, configurationPath: String, keytabPath: String) {
        self.name = name
        self.configurationPath = configurationPath
        self.keytabPath = keytabPath
    }
}
