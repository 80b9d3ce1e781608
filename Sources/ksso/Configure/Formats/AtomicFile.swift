internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// Replaces files as a whole, so that no program reads half of one, and a failure leaves the former file.
enum AtomicFile {
    /// The mode of a file that every user of the machine reads, whatever the umask of root is.
    static let machineMode: mode_t = 0o644

    /// Writes a file. An existing file keeps its mode and owner, and a symbolic link to it stays a link.
    ///
    /// - Parameter mode: The mode of a new file and, with search permission, of the folders that have to be created; nil lets the umask
    ///   decide.
    static func write(_ data: Data, to path: String, mode: mode_t? = nil) throws(CommandFailure) {
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let folder = target.deletingLastPathComponent().path
        try makeFolder(folder, mode: mode)
        // Exclusive, so that a file or a link that another process put there is not written to.
        let draft = "\(folder)/.\(target.lastPathComponent).ksso-\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
        } catch {
            unlink(draft)
            throw CommandFailure(.failed, "\(path): the file cannot be written: \(error.localizedDescription)")
        }
        guard adopt(target.path, descriptor, mode: mode), rename(draft, target.path) == 0 else {
            let failure = failure(path)
            unlink(draft)
            throw failure
        }
    }

    /// Gives a draft the mode and the owner of the file that it replaces.
    private static func adopt(_ path: String, _ draft: Int32, mode: mode_t?) -> Bool {
        guard let former = FileStatus(path: path) else {
            let mask = umask(0)
            umask(mask)
            return fchmod(draft, mode ?? (0o666 & ~mask)) == 0
        }
        if former.owner != geteuid(), fchown(draft, former.owner, former.group) != 0 { return false }
        return fchmod(draft, mode_t(former.permissions)) == 0
    }

    /// Creates a folder with its parents.
    private static func makeFolder(_ path: String, mode: mode_t?) throws(CommandFailure) {
        guard access(path, F_OK) != 0, path != "/" else { return }
        try makeFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path, mode: mode)
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw failure(path) }
        // Who may read the file may pass its folders.
        if let mode { chmod(path, mode | (mode & 0o444) >> 2) }
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): the file cannot be written: \(String(cString: strerror(errno))).")
    }
}

extension AtomicFile {
    /// Removes a file, or a symbolic link.
    static func remove(_ path: String) throws(CommandFailure) {
        guard unlink(path) == 0 else {
            throw CommandFailure(.failed, "\(path): the file cannot be removed: \(String(cString: strerror(errno))).")
        }
    }
}
