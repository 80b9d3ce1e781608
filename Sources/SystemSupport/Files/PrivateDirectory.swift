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
        return hasTrustedParent
    }

    private var hasTrustedParent: Bool {
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

    /// Why an existing directory is not used, and what to do; nil if it is trusted or does not exist.
    package var refusal: String? {
        var status = stat()
        guard !isTrusted, unsafe lstat(path, &status) == 0 else { return nil }
        return fault
    }

    /// Why the directory cannot be used after ``make()`` returned false, and what to do.
    package var fault: String {
        var status = stat()
        let remedy = "set KSSO_RUNTIME_DIR to another folder."
        guard unsafe lstat(path, &status) == 0 else { return "\(path): the folder cannot be created. To use another one, \(remedy)" }
        guard hasTrustedParent else {
            return "\(path): the folder is not used, because other users can write to its parent folder. Correct that, or \(remedy)"
        }
        // If others could write to the folder, its contents may be theirs.
        guard let (owner, mode) = Self.folder(path), owner == geteuid(), mode & 0o022 == 0 else {
            return "\(path): the folder is not used, because it belongs to another user, or others can write to it. Remove it, or \(remedy)"
        }
        return "\(path): the folder is not used, because other users can access it. Run: chmod 700 \(shellWord(path))"
    }
}

/// Finds files that other users cannot change.
package enum FileTrust {
    /// Resolves the path of a file that only this user and root can change or replace; nil if other users can, or if there is no such file.
    ///
    /// The file, each directory and each symbolic link that the kernel follows must belong to one of the two, and neither group nor others
    /// may write to the file and the directories. A sticky directory, such as /tmp, may be writable, because users cannot move each other's
    /// files in it.
    ///
    /// - Parameter path: An absolute path.
    /// - Returns: The path without symbolic links. Use it in place of the original, so that the file that was checked is the one in use.
    package static func resolveClosedToOthers(_ path: String) -> String? {
        guard path.hasPrefix("/"), isClosed(directory: "/") else { return nil }
        // The components that are still to be resolved, in reverse order.
        var components = parts(path)
        var current = ""
        var links = 0
        while let name = components.popLast() {
            switch name {
            case ".": continue
            case "..":
                current = String(current[..<(current.lastIndex(of: "/") ?? current.startIndex)])
                continue
            default: break
            }
            let next = "\(current)/\(name)"
            guard let found = status(next), isOurs(found) else { return nil }
            switch found.st_mode & S_IFMT {
            case S_IFLNK:
                links += 1
                guard links <= linkLimit, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: next) else { return nil }
                if target.hasPrefix("/") { current = "" }
                components += parts(target)
            case S_IFDIR:
                guard isClosed(directory: next) else { return nil }
                current = next
            default: return components.isEmpty && found.st_mode & 0o022 == 0 ? next : nil
            }
        }
        return nil
    }

    /// The owner of a file that not every user can write to; nil if every user can. Its group and its directories are not checked.
    package static func owner(ofFile path: String) -> UInt32? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o002 == 0 else { return nil }
        return status.st_uid
    }

    /// The number of symbolic links that Linux follows in one path.
    private static let linkLimit = 40

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").reversed().map(String.init) }

    private static func isClosed(directory: String) -> Bool {
        guard let found = status(directory), isOurs(found) else { return false }
        return found.st_mode & 0o022 == 0 || found.st_mode & S_ISVTX != 0
    }

    private static func isOurs(_ status: stat) -> Bool { [0, geteuid()].contains(status.st_uid) }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
