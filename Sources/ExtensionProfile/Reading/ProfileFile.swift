import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An open file or directory, judged by its descriptor so that nobody can swap it between the look and the reading.
///
/// All that is unsafe in this target, the calls of the C library, stands here.
struct ProfileFile: ~Copyable {
    /// Who may own what is read, by uid, and nobody else may write.
    struct Trust {
        let owners: Set<UInt32>
        /// Whether a symbolic link may stand for a file.
        let followsLinks: Bool
    }

    private let descriptor: Int32
    private let path: String

    deinit { close(descriptor) }

    /// The user that this process acts as.
    static var currentUser: UInt32 { geteuid() }

    /// Whether something has this name: a link that leads nowhere has it too.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 || errno != ENOENT
    }

    /// Reads a file that the user named.
    ///
    /// - Parameter trust: Who may have written it; nil where the user names it now, and it is theirs to choose: only its kind and size are
    ///   checked then.
    static func read(path: String, trust: Trust? = nil) throws(ProfileError) -> Data {
        // Without O_NONBLOCK a pipe by that name would hold the program up.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        return try ProfileFile(descriptor: descriptor, path: path).contents(trust: trust)
    }

    /// Opens a directory; nil when there is none.
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

    /// The names of the directory, in order.
    func names() throws(ProfileError) -> [String] {
        // By path: what matters of a name is only what opening it in this directory finds.
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        } catch {
            throw ProfileError(.unreadable, source: path, reason: "The directory cannot be listed: \(error.localizedDescription)")
        }
    }

    private func contents(trust: Trust?) throws(ProfileError) -> Data {
        let status = try status()
        guard status.st_mode & S_IFMT == S_IFREG else {
            let kind = status.st_mode & S_IFMT == S_IFDIR ? "a directory" : "not a regular file"
            throw ProfileError(.unreadable, source: path, reason: "It is \(kind); name a file.")
        }
        if let trust { try refuseUntrusted(status, trust) }
        do {
            // One byte more than allowed tells a file that is too large, also one that grew after the look at its size.
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
                reason: "Others than its owner can write it (mode \(mode)), so it is not read. Mend it with: chmod go-w \(path)"
            )
        }
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ProfileError {
        if code == ELOOP {
            let reason = "It is a symbolic link, which is not followed here. Put the file itself there."
            return ProfileError(.untrusted, source: path, reason: reason)
        }
        let text = unsafe String(cString: strerror(code))
        return ProfileError(.unreadable, source: path, reason: "It cannot be opened: \(text).")
    }
}
