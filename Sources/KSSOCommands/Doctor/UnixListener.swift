internal import Foundation
internal import UnixSystem

/// Somebody who listens at a Unix socket, or nobody.
enum UnixListener {
    /// Whether a connection is taken. It takes some microseconds and never waits.
    static func answers(_ path: String) -> Bool {
        guard let address = UnixSocketAddress(path: path) else { return false }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        // One that is too busy to take a connection at once is there all the same, and one that is another user's too.
        return address.lent { connect(descriptor, $0, $1) } == 0 || errno == EAGAIN || errno == EACCES
    }
}
