internal import Foundation

/// A plugin of libkrb5 that distributions package by itself. libkrb5 goes on without one that is missing, and says nothing.
package struct LibraryPlugin: Sendable {
    /// Its file below a folder of plugins.
    package let file: String

    /// HTTPS to a KDC proxy (MS-KKDCP).
    package static let tls = LibraryPlugin(file: "tls/k5tls.so")
    /// Signing in with a certificate (PKINIT, RFC 4556).
    package static let pkinit = LibraryPlugin(file: "preauth/pkinit.so")

    /// Whether it is in one of the folders where libkrb5 is installed.
    package var isInstalled: Bool {
        let files = FileManager.default
        return ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/lib"].contains { root in
            let names = (try? files.contentsOfDirectory(atPath: root)) ?? []
            // A folder for each architecture.
            let folders = [root] + names.filter { $0.contains("-linux-") }.map { "\(root)/\($0)" }
            return folders.contains { files.fileExists(atPath: "\($0)/krb5/plugins/\(file)") }
        }
    }

    /// Whether it is there, or a file of krb5.conf's `[plugins]` is in its place.
    func isAvailable(in context: Context) -> Bool {
        let modules = (try? context.values(["plugins", "clpreauth", "module"])) ?? []
        let name = file.split(separator: "/").last?.split(separator: ".").first ?? ""
        return modules.contains { $0.hasPrefix("\(name):") } || isInstalled
    }
}

/// Which certificates come into question, as libkrb5's PKINIT plugin is told it (`pkinit_cert_match`).
package enum CertificateFilter {
    /// The rule for a wildcard over the issuer's name (RFC 2253): `*` is any characters, `?` is one, and the whole name must match.
    package static func rule(issuer wildcard: String) -> String {
        // POSIX extended regular expressions; in brackets a character stands for itself, but for the caret.
        let pattern = wildcard.map { character in
            switch character {
            case "*": ".*"
            case "?": "."
            case "^", "\\": "\\\(character)"
            case _ where character.isLetter || character.isNumber || " =,-_".contains(character): String(character)
            default: "[\(character)]"
            }
        }
        return "<ISSUER>^\(pattern.joined())$"
    }
}
