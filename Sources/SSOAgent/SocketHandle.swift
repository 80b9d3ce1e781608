internal import Foundation

/// A path by which this process reaches a socket's file even when another file has taken the socket's own path.
///
/// The agent's engine is a client of the agent's own caches, and libkrb5 waits for a cache server without a limit. If it went by the path
/// that other programs use, it would wait for whatever process listens there next, such as a systemd that starts this agent's successor.
/// The descriptor is open for its place alone (`O_PATH`, open(2)), and connect(2) follows the link that /proc has for it.
final class SocketHandle: Sendable {
    private let descriptor: Int32

    /// `O_PATH`, which glibc hides from strict C; the same number on every architecture that Swift runs on.
    private static let placeOnly: Int32 = 0o10_000_000

    /// A handle that leads to no socket yet; nil if /proc is not there.
    init?() {
        descriptor = unsafe open("/", Self.placeOnly | O_CLOEXEC)
        guard descriptor >= 0, unsafe access("/proc/self/fd", F_OK) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
    }

    deinit { close(descriptor) }

    /// For krb5.conf's `kcm_socket`, in this process alone.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Makes it lead to the socket that is at a path now.
    ///
    /// - Returns: Whether there is a file.
    func lead(to socket: String) -> Bool {
        let found = unsafe open(socket, Self.placeOnly | O_NOFOLLOW | O_CLOEXEC)
        guard found >= 0 else { return false }
        defer { close(found) }
        return dup2(found, descriptor) >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    }
}
