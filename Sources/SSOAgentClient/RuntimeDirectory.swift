internal import Foundation

/// Where the user's sockets and additional caches are: `$KSSO_RUNTIME_DIR`, else `$XDG_RUNTIME_DIR/ksso`, else `/run/user/UID/ksso`,
/// else a private folder under `/tmp`.
package struct RuntimeDirectory: Sendable, Hashable {
    /// The folder's path. It need not be there yet.
    package let path: String

    /// The agent's API.
    package var apiSocket: String { path + "/agent.sock" }
    /// The agent's credential caches.
    package var kcmSocket: String { path + "/kcm.sock" }
    /// The krb5.conf of the programs that share an agent's tickets; it keeps it in step with the profiles.
    package var sessionConfiguration: String { path + "/krb5.conf" }

    /// A folder that is known.
    package init(path: String) { self.path = path }

    /// Chooses the folder; relative paths in the variables are passed over.
    package init(environment: [String: String]) {
        let user = geteuid()
        if let named = environment["KSSO_RUNTIME_DIR"], named.hasPrefix("/") {
            path = named
        } else if let base = environment["XDG_RUNTIME_DIR"], base.hasPrefix("/") {
            path = "\(base)/ksso"
        } else if FileManager.default.isWritableFile(atPath: "/run/user/\(user)") {
            path = "/run/user/\(user)/ksso"
        } else {
            path = "/tmp/ksso-\(user)"
        }
    }
}
