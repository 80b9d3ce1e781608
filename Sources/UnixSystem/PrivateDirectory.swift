internal import Foundation

/// A folder for one user's secrets: it is used only while it belongs to the user and is closed to everybody else.
package struct PrivateDirectory: Sendable {
    /// Where it is.
    package let path: String

    /// A folder by its path; nothing is made yet.
    package init(path: String) { self.path = path }

    /// Whether it is there, no link, the user's own, and closed to others, who can't put another in its place either.
    package var isTrusted: Bool {
        guard let (owner, mode) = Self.folder(path), owner == geteuid(), mode & 0o077 == 0 else { return false }
        let parent = URL(filePath: path).deletingLastPathComponent().resolvingSymlinksInPath().path
        guard let (parentOwner, parentMode) = Self.folder(parent) else { return false }
        // In a folder such as /tmp all may write, but nobody may move what another owns.
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

    /// Makes it, with mode 0700, where it is not there; false when it is there and can't be trusted.
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

/// Whether other users can change what is at a path.
package enum FileTrust {
    /// Whether only this user and root can change the file or put another in its place: the file and each folder on its path belong to one
    /// of the two, and neither group nor others may write to them. In a sticky folder, such as /tmp, users cannot move each other's files.
    ///
    /// Links are followed: the file they lead to counts.
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
