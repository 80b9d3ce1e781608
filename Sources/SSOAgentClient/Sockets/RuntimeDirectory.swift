internal import Foundation
internal import UnixSystem

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

extension RuntimeDirectory {
    /// Whether an agent, or who starts one on demand, holds the credential caches here: somebody listens at ``kcmSocket``, and it is this
    /// user or root. It takes some microseconds and never waits.
    package var servesCaches: Bool { Self.isServed(kcmSocket) }

    /// Whether an agent answers here, whatever its mode: as ``servesCaches``, of ``apiSocket``.
    package var servesRequests: Bool { Self.isServed(apiSocket) }

    private static func isServed(_ path: String) -> Bool {
        guard let address = UnixSocketAddress(path: path) else { return false }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let connected = unsafe address.lent { unsafe connect(descriptor, $0, $1) }
        // One that is too busy to take a connection at once is there all the same.
        guard connected == 0 else { return errno == EAGAIN }
        // `struct ucred`, which Glibc's module does not declare: process, user, group.
        var peer: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(12)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else { return false }
        return peer.1 == geteuid() || peer.1 == 0
    }
}
