import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open file or directory. It is checked through its descriptor, so that it cannot be replaced between the check and the read.
struct ProfileFile: ~Copyable {
    /// The allowed owners, by user ID. No one else may be able to write to the file.
    struct Trust {
        let owners: Set<UInt32>
        /// Whether symbolic links are followed.
        let followsLinks: Bool
    }

    private let descriptor: Int32
    private let path: String

    deinit { close(descriptor) }

    /// The effective user ID of this process.
    static var currentUser: UInt32 { geteuid() }

    /// Whether a path exists, or cannot be checked. A broken symbolic link exists.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 || errno != ENOENT
    }

    /// Reads a file that the user named.
    ///
    /// - Parameter trust: The required owner and mode; nil if the user names the file now. Then only its kind and size are checked.
    static func read(path: String, trust: Trust? = nil) throws(ProfileError) -> Data {
        // Without `O_NONBLOCK`, opening a FIFO would block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        return try ProfileFile(descriptor: descriptor, path: path).contents(trust: trust)
    }

    /// Opens a directory; returns nil if it does not exist.
    static func directory(path: String, trust: Trust) throws(ProfileError) -> ProfileFile? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            throw unreadable(path, code)
        }
        let directory = ProfileFile(descriptor: descriptor, path: path)
        try directory.refuseUntrusted(directory.status(), trust)
        return directory
    }

    /// Reads a file of this directory.
    func read(name: String, trust: Trust) throws(ProfileError) -> Data {
        let path = "\(self.path)/\(name)"
        let links = trust.followsLinks ? 0 : O_NOFOLLOW
        let file = unsafe openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | links)
        guard file >= 0 else { throw ProfileFile.unreadable(path, errno) }
        return try ProfileFile(descriptor: file, path: path).contents(trust: trust)
    }

    /// The sorted names of the directory's entries.
    func names() throws(ProfileError) -> [String] {
        // Listing by path is safe, because the entries are opened through this directory's descriptor.
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw ProfileError(.unreadable, source: path, reason: "The directory cannot be listed: \(error.localizedDescription)")
        }
    }

    /// Writes a file that only its owner can read, in place of the present one. Creates the directory if it is missing.
    static func replace(path: String, in directory: String, with data: Data) throws(ProfileError) {
        let files = FileManager.default
        // The search ignores files with this name.
        let draft = "\(directory)/.draft.\(getpid())"
        do {
            try files.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ProfileError(.unwritable, source: directory, reason: "The directory cannot be created: \(error.localizedDescription)")
        }
        guard files.createFile(atPath: draft, contents: data, attributes: [.posixPermissions: 0o600]),
            unsafe rename(draft, path) == 0
        else {
            let text = unsafe String(cString: strerror(errno))
            try? files.removeItem(atPath: draft)
            throw ProfileError(.unwritable, source: path, reason: "The file cannot be written: \(text).")
        }
    }

    private func contents(trust: Trust?) throws(ProfileError) -> Data {
        let status = try status()
        guard status.st_mode & S_IFMT == S_IFREG else {
            let kind = status.st_mode & S_IFMT == S_IFDIR ? "a directory" : "not a regular file"
            throw ProfileError(.unreadable, source: path, reason: "It is \(kind); use a regular file.")
        }
        if let trust { try refuseUntrusted(status, trust) }
        do {
            // Reading one byte more than allowed detects a file that is too large, even if it grew after the check.
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
            let data = try handle.read(upToCount: ProfileDocument.maximumSize + 1) ?? Data()
            guard data.count <= ProfileDocument.maximumSize else { throw ProfileError.tooLarge(path) }
            return data
        } catch let error as ProfileError {
            throw error
        } catch {
            throw ProfileError(.unreadable, source: path, reason: "It cannot be read: \(error.localizedDescription)")
        }
    }

    private func status() throws(ProfileError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw ProfileFile.unreadable(path, errno) }
        return status
    }

    private func refuseUntrusted(_ status: stat, _ trust: Trust) throws(ProfileError) {
        guard trust.owners.contains(status.st_uid) else {
            let allowed = trust.owners.sorted().map { $0 == 0 ? "root" : "uid \($0)" }.joined(separator: " or ")
            throw ProfileError(
                .untrusted,
                source: path,
                reason: "It is owned by uid \(status.st_uid), expected \(allowed), so it is not read. Change its owner with chown."
            )
        }
        guard status.st_mode & 0o022 == 0 else {
            let mode = String(UInt32(status.st_mode) & 0o7777, radix: 8)
            throw ProfileError(
                .untrusted,
                source: path,
                reason: "Users other than its owner can write it (mode \(mode)), so it is not read. Fix it with: chmod go-w \(path)"
            )
        }
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ProfileError {
        if code == ELOOP {
            let reason = "It is a symbolic link, which is not followed here. Replace it with the file itself."
            return ProfileError(.untrusted, source: path, reason: reason)
        }
        let text = unsafe String(cString: strerror(code))
        return ProfileError(.unreadable, source: path, reason: "cannot be opened: \(text).")
    }
}
