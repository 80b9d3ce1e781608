internal import Foundation

/// A directory for one user's secrets. It is used only while it belongs to the user and no one else can access it.
package struct PrivateDirectory: Sendable {
    /// The directory's path.
    package let path: String

    /// Creates a value for a path. The directory is not created.
    package init(path: String) { self.path = path }

    /// Whether the directory exists, is not a symbolic link, belongs to the user, and is inaccessible to other users, who also cannot
    /// replace it.
    package var isTrusted: Bool {
        guard let (owner, mode) = Self.folder(path), owner == geteuid(), mode & 0o077 == 0 else { return false }
        let parent = URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath().path
        guard let (parentOwner, parentMode) = Self.folder(parent) else { return false }
        // In a sticky directory such as /tmp, all users may write, but not move each other's files.
        let isSticky = parentMode & 0o1000 != 0
        return (parentOwner == geteuid() || parentOwner == 0) && (isSticky || parentMode & 0o022 == 0)
    }

    private static func folder(_ path: String) -> (owner: UInt32, mode: UInt16)? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeDirectory,
            let owner = attributes[.ownerAccountID] as? NSNumber,
            let mode = attributes[.posixPermissions] as? NSNumber
        else { return nil }
        return (owner.uint32Value, mode.uint16Value)
    }

    /// Creates the directory with mode 0700 if it does not exist. Returns false if the directory cannot be trusted.
    package func make() -> Bool {
        if !isTrusted {
            try? FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        return isTrusted
    }
}

/// Checks whether other users can change a file.
package enum FileTrust {
    /// Whether only this user and root can change or replace the file: the file and each directory on its path belong to one of the two,
    /// and neither group nor others may write to them. A sticky directory, such as /tmp, may be writable, because users cannot move each
    /// other's files in it.
    ///
    /// Symbolic links are resolved: their target is checked.
    package static func isClosedToOthers(_ path: String) -> Bool {
        guard let real = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(real) }
        var current = unsafe String(cString: real)
        guard let file = status(current), isOurs(file), file.st_mode & 0o022 == 0 else { return false }
        while current != "/" {
            current = (current as NSString).deletingLastPathComponent
            guard let folder = status(current), isOurs(folder), folder.st_mode & 0o022 == 0 || folder.st_mode & S_ISVTX != 0 else {
                return false
            }
        }
        return true
    }

    private static func isOurs(_ status: stat) -> Bool { [0, geteuid()].contains(status.st_uid) }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
