internal import Foundation
internal import Kerberos
internal import UnixSystem

/// The folder in which a cache that is a file lies, or would lie.
struct CacheFolder {
    let path: String

    /// Nil for a cache that is no file.
    init?(of name: CredentialCacheName) {
        switch name.type {
        case "DIR" where !name.residual.hasPrefix(":"): path = name.residual
        case "FILE", "DIR":
            guard let file = name.path else { return nil }
            path = URL(fileURLWithPath: file).deletingLastPathComponent().path
        default: return nil
        }
    }

    /// About what a ticket of a user with many groups takes.
    private static let room = 16384

    /// Why no ticket can be written there; nil where one can. A file without a name is written and gone with this call.
    var fault: String? {
        var information = stat()
        guard stat(path, &information) == 0 else { return "there is no folder \(path)" }
        guard access(path, W_OK | X_OK) == 0 else { return "\(path) is closed to this user" }
        let descriptor = open(path, Self.withoutName | O_WRONLY | O_CLOEXEC, 0o600)
        // Some file systems have no such files: then the room is all that can be told.
        guard descriptor >= 0 else { return hasFreeBlocks ? nil : Self.text(ENOSPC) }
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 0, count: Self.room)
        let count = write(descriptor, bytes, bytes.count)
        guard count < bytes.count else { return nil }
        return Self.text(count < 0 ? errno : ENOSPC)
    }

    /// O_TMPFILE of open(2), which Swift does not see.
    private static let withoutName = 0o20_000_000 | O_DIRECTORY

    private var hasFreeBlocks: Bool {
        var system = statvfs()
        return statvfs(path, &system) != 0 || system.f_bavail > 0
    }

    private static func text(_ number: Int32) -> String {
        number == ENOSPC || number == EDQUOT ? "the disk is full (\(String(cString: strerror(number))))" : String(cString: strerror(number))
    }
}

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
