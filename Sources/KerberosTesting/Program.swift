import Foundation

/// Where the programs are that a test realm is made of.
package enum Program {
    private static let packages = [
        "krb5kdc": "krb5-kdc", "kdb5_util": "krb5-kdc", "kadmin.local": "krb5-admin-server", "kadmind": "krb5-admin-server",
        "kpasswd": "krb5-user",
        "kinit": "krb5-user", "klist": "krb5-user", "kvno": "krb5-user", "kdestroy": "krb5-user",
        "apache2": "apache2-bin", "curl": "curl", "openssl": "openssl", "setsid": "util-linux", "setpriv": "util-linux",
    ]

    /// Folders that an ordinary user's `PATH` leaves out, and where Debian puts servers.
    private static let systemFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]

    /// The path of a program: searched in `PATH` of the environment given, then in the system's folders.
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

    /// Checks that a file that a package brings is there.
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
