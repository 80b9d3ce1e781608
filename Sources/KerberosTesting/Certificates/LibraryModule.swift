import Foundation
import Kerberos

/// A plugin of libkrb5 that distributions package by itself.
struct LibraryModule: Sendable {
    let plugin: LibraryPlugin
    /// The Debian package that has it.
    let package: String
    /// The interfaces of `[plugins]` in krb5.conf that it is for, and its name there.
    let interfaces: [String]
    let name: String

    static let pkinit = LibraryModule(
        plugin: .pkinit,
        package: "krb5-pkinit",
        interfaces: ["clpreauth", "kdcpreauth"],
        name: "pkinit"
    )
    static let tls = LibraryModule(plugin: .tls, package: "krb5-k5tls", interfaces: ["tls"], name: "k5tls")

    /// The lines for `[plugins]` by their interfaces; none for a plugin that is installed, which libkrb5 finds by itself.
    ///
    /// - Parameter directory: Where plugins are that are not installed.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` if it is neither there nor installed.
    func modules(in directory: String?) throws -> [String: String] {
        if let modules = modulesIfPresent(in: directory) { return modules }
        throw KerberosTestingError(
            .programMissing,
            "libkrb5's plugin \(plugin.file) was not found; install the Debian package \(package), or name its folder: pluginDirectory."
        )
    }

    /// The same; nil where the plugin is neither there nor installed.
    func modulesIfPresent(in directory: String?) -> [String: String]? {
        let file = plugin.file
        if let directory, FileManager.default.fileExists(atPath: "\(directory)/\(file)") {
            return Dictionary(uniqueKeysWithValues: interfaces.map { ($0, "\(name):\(directory)/\(file)") })
        }
        return plugin.isInstalled ? [:] : nil
    }
}
