internal import Foundation
internal import Kerberos

/// The folder of a cache that is a file, whether the cache exists or not.
struct CacheFolder {
    let path: String

    /// Nil for a cache that is not a file.
    init?(of name: CredentialCacheName) {
        switch name.type {
        case "DIR" where !name.residual.hasPrefix(":"): path = name.residual
        case "FILE", "DIR":
            guard let file = name.path else { return nil }
            path = URL(fileURLWithPath: file).deletingLastPathComponent().path
        default: return nil
        }
    }

    /// The approximate size in bytes of a ticket for a user with many groups.
    private static let room = 16384

    /// Why no ticket can be written there; nil if one can. Writes a file without a name, which disappears when it is closed.
    var fault: String? {
        var information = stat()
        guard stat(path, &information) == 0 else { return "the folder \(path) does not exist" }
        guard access(path, W_OK | X_OK) == 0 else { return "this user cannot write to \(path)" }
        let descriptor = open(path, Self.withoutName | O_WRONLY | O_CLOEXEC, 0o600)
        // Some file systems do not support such files. Then only the free space is checked.
        guard descriptor >= 0 else { return hasFreeBlocks ? nil : Self.text(ENOSPC) }
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 0, count: Self.room)
        let count = write(descriptor, bytes, bytes.count)
        guard count < bytes.count else { return nil }
        return Self.text(count < 0 ? errno : ENOSPC)
    }

    /// O_TMPFILE of open(2), which Swift does not import.
    private static let withoutName = 0o20_000_000 | O_DIRECTORY

    private var hasFreeBlocks: Bool {
        var system = statvfs()
        return statvfs(path, &system) != 0 || system.f_bavail > 0
    }

    private static func text(_ number: Int32) -> String {
        number == ENOSPC || number == EDQUOT ? "the disk is full (\(String(cString: strerror(number))))" : String(cString: strerror(number))
    }
}
