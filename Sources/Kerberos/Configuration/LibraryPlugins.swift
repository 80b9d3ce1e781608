internal import Foundation

/// A libkrb5 plugin that distributions package separately. If it is missing, libkrb5 continues without a message.
package struct LibraryPlugin: Sendable {
    /// Its path in a plugin directory.
    package let file: String

    /// HTTPS to a KDC proxy (MS-KKDCP).
    package static let tls = LibraryPlugin(file: "tls/k5tls.so")
    /// Sign-in with a certificate (PKINIT, RFC 4556).
    package static let pkinit = LibraryPlugin(file: "preauth/pkinit.so")
    /// The plugin directories in which libkrb5 is usually installed.
    private static var directories: [String] {
        ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/lib"].flatMap { root in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            // Debian has one directory per architecture.
            let folders = [root] + names.filter { $0.contains("-linux-") }.map { "\(root)/\($0)" }
            return folders.map { "\($0)/krb5/plugins" }
        }
    }

    /// Whether it is in one of the directories where libkrb5 is usually installed.
    package var isInstalled: Bool { Self.directories.contains { FileManager.default.fileExists(atPath: "\($0)/\(file)") } }

    /// Whether a plugin may locate a realm's servers: there is one in libkrb5's directory for such plugins, or krb5.conf names one.
    static func mayLocateServers(in context: Context) -> Bool {
        let modules = (try? context.values(["plugins", "locate", "module"])) ?? []
        let base = (try? context.values(["libdefaults", "plugin_base_dir"])) ?? []
        return !modules.isEmpty
            || (directories + base).contains { directory in
                let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/libkrb5")) ?? []
                return names.contains { $0.hasSuffix(".so") }
            }
    }

    /// Whether it is installed, or `[plugins]` in krb5.conf names a module in its place.
    func isAvailable(in context: Context) -> Bool {
        let modules = (try? context.values(["plugins", "clpreauth", "module"])) ?? []
        let name = file.split(separator: "/").last?.split(separator: ".").first ?? ""
        return modules.contains { $0.hasPrefix("\(name):") } || isInstalled
    }
}
