internal import Foundation
internal import UnixSystem

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
