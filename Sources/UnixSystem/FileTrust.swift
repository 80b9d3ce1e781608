internal import Foundation

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
