import Foundation
import Kerberos

/// Finds the programs that a test realm needs.
package enum Program {
    private static let packages = [
        "krb5kdc": "krb5-kdc", "kdb5_util": "krb5-kdc", "kadmin.local": "krb5-admin-server", "kadmind": "krb5-admin-server",
        "kpasswd": "krb5-user",
        "kinit": "krb5-user", "klist": "krb5-user", "kvno": "krb5-user", "kdestroy": "krb5-user",
        "apache2": "apache2-bin", "squid": "squid", "curl": "curl", "openssl": "openssl", "setsid": "util-linux", "setpriv": "util-linux",
    ]

    /// Folders that are not in an ordinary user's `PATH`, in which Debian installs servers.
    private static let systemFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]

    /// Returns the path of a program, found in `PATH` of the environment or in the system folders.
    package static func path(
        of name: String,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        systemFolders: [String] = systemFolders
    ) throws -> String {
        if name.contains("/") { return name }
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + systemFolders
        for folder in folders where folder.hasPrefix("/") {
            let candidate = "\(folder)/\(name)"
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: candidate, isDirectory: &isDirectory), !isDirectory.boolValue,
                FileManager.default.isExecutableFile(atPath: candidate)
            {
                return candidate
            }
        }
        throw missing(name, package: packages[name])
    }

    /// Checks that a file of a package exists.
    package static func requireFile(_ path: String, package: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { throw missing(path, package: package) }
    }

    private static func missing(_ name: String, package: String?) -> KerberosTestingError {
        guard let package else {
            return KerberosTestingError(.programMissing, "\(name) was not found in PATH; install it.")
        }
        return KerberosTestingError(
            .programMissing,
            "\(name) was not found; install the Debian package \(package): apt-get install \(package)"
        )
    }
}

/// A libkrb5 plugin that distributions package separately.
struct LibraryModule: Sendable {
    let plugin: LibraryPlugin
    /// The Debian package that contains it.
    let package: String
    /// The interfaces of `[plugins]` in krb5.conf that it implements, and its name there.
    let interfaces: [String]
    let name: String

    static let pkinit = LibraryModule(
        plugin: .pkinit,
        package: "krb5-pkinit",
        interfaces: ["clpreauth", "kdcpreauth"],
        name: "pkinit"
    )
    static let tls = LibraryModule(plugin: .tls, package: "krb5-k5tls", interfaces: ["tls"], name: "k5tls")

    /// Returns the values for `[plugins]` by interface; empty for an installed plugin, which libkrb5 finds itself.
    ///
    /// - Parameter directory: A folder with plugins that are not installed.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` if it is neither there nor installed.
    func modules(in directory: String?) throws -> [String: String] {
        if let modules = modulesIfPresent(in: directory) { return modules }
        throw KerberosTestingError(
            .programMissing,
            "libkrb5's plugin \(plugin.file) was not found; install the Debian package \(package), or set pluginDirectory to its directory."
        )
    }

    /// Returns the values of ``modules(in:)``; nil if the plugin is neither there nor installed.
    func modulesIfPresent(in directory: String?) -> [String: String]? {
        let file = plugin.file
        if let directory, FileManager.default.fileExists(atPath: "\(directory)/\(file)") {
            return Dictionary(uniqueKeysWithValues: interfaces.map { ($0, "\(name):\(directory)/\(file)") })
        }
        return plugin.isInstalled ? [:] : nil
    }
}

/// libfaketime, which changes the clock of a single program.
package enum ClockLibrary {
    private static let name = "faketime/libfaketimeMT.so.1"

    /// Returns the variables that shift a program's clock by whole seconds, forward or back.
    ///
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` if libfaketime is not installed.
    static func environment(offset: Duration) throws -> [String: String] {
        removeLeftovers()
        let seconds = offset.components.seconds
        return [
            "LD_PRELOAD": try path(),
            "FAKETIME": seconds < 0 ? "\(seconds)s" : "+\(seconds)s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
    }

    /// Returns the words before a command that shift only its clock, not that of the programs that start it and may have another account.
    ///
    /// - Throws: as ``environment(offset:)`` does.
    static func command(offset: Duration) throws -> [String] {
        [try Program.path(of: "env")] + (try environment(offset: offset)).map { "\($0.key)=\($0.value)" }
    }

    /// Removes the semaphores and the memory of programs that were killed.
    ///
    /// libfaketime names them after the process and shares them with its children. A later process with the same identifier cannot use
    /// another account's, and exits.
    package static func removeLeftovers(in folder: String = "/dev/shm") {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let parts = name.split(separator: "_")
            guard parts.count == 3, ["sem.faketime", "faketime"].contains(parts[0]), let process = pid_t(parts[2]), process > 0 else {
                continue
            }
            // Other accounts' files cannot be removed; a process of another account exists too (EPERM).
            guard kill(process, 0) != 0, errno == ESRCH else { continue }
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    /// Returns the path of libfaketime, installed or unpacked in `.build/unpacked` of the package whose tests run.
    package static func path(roots: [String] = ["", "\(FileManager.default.currentDirectoryPath)/.build/unpacked"]) throws -> String {
        let folders = roots.flatMap { root in
            ["usr/lib", "usr/lib64", "usr/local/lib"].flatMap { part in
                let folder = "\(root)/\(part)"
                // One subfolder for each architecture.
                let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
                return [folder] + names.sorted().map { "\(folder)/\($0)" }
            }
        }
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.fileExists(atPath:)) else {
            let message = "A program's clock is set by libfaketime, which is not installed; install the Debian package libfaketime: "
            throw KerberosTestingError(.programMissing, message + "apt-get install libfaketime")
        }
        return path
    }
}
