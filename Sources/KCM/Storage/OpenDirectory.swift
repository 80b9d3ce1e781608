#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A directory that only this user can access. It is held open, so that files are created in the directory that was checked, whatever
/// happens to its path.
final class OpenDirectory {
    private let descriptor: Int32
    let path: String

    /// Opens a directory, and creates it if it does not exist; its parent must exist.
    convenience init(_ path: String) throws(StorageError) { try self.init(path, name: path, in: AT_FDCWD) }

    /// Opens a subdirectory, and creates it if it does not exist.
    func folder(_ name: String) throws(StorageError) -> OpenDirectory {
        try OpenDirectory("\(path)/\(name)", name: name, in: descriptor)
    }

    /// Removes a subdirectory if it is empty.
    func removeFolder(_ name: String) { _ = unsafe unlinkat(descriptor, name, AT_REMOVEDIR) }

    private init(_ path: String, name: String, in parent: Int32) throws(StorageError) {
        guard unsafe mkdirat(parent, name, 0o700) == 0 || errno == EEXIST else { throw .last("\(path): the directory cannot be created") }
        let opened = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else {
            guard errno == ENOTDIR || errno == ELOOP else { throw .last("\(path): the directory cannot be opened") }
            throw StorageError(.notADirectory, "\(path): this is not a directory, or it is a link. Remove it, or use another directory.")
        }
        descriptor = opened
        self.path = path
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last("\(path): the directory cannot be inspected") }
        guard status.st_uid == geteuid() else {
            throw StorageError(
                .wrongOwner,
                "\(path): the directory is owned by user \(status.st_uid), but this process runs as \(geteuid()). Use another directory."
            )
        }
        guard status.st_mode & 0o077 == 0 else {
            throw StorageError(
                .wrongMode,
                "\(path): other users can access this directory, which is to contain tickets. Remove it, or run chmod 700 on it."
            )
        }
    }

    deinit { close(descriptor) }

    /// Locks the directory against other servers until ``unlock()``.
    func lock() throws(StorageError) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
        guard errno == EWOULDBLOCK else { throw .last("\(path): the directory cannot be locked") }
        throw StorageError(.inUse, "\(path): another server stores its caches there. Stop it, or use another directory.")
    }

    /// Releases the lock. Closing the descriptor is not enough, because a child process that has not yet called execve(2) holds the lock
    /// too.
    func unlock() { _ = flock(descriptor, LOCK_UN) }

    /// Returns the names of the directory's entries.
    func names() throws(StorageError) -> [String] {
        let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else { throw .last("\(path): the directory cannot be read") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Opens an existing regular file; fails for a directory, a link, or anything that could block.
    func open(_ name: String) throws(StorageError) -> OpenFile {
        let opened = unsafe openat(descriptor, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else {
            guard [ELOOP, EISDIR, ENXIO, ENODEV].contains(errno) else { throw .last("\(path)/\(name) cannot be opened") }
            throw StorageError(.notAFile, "\(path)/\(name) is not a regular file.")
        }
        let file = OpenFile(descriptor: opened, path: "\(path)/\(name)")
        var status = stat()
        guard unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(.notAFile, "\(path)/\(name) is not a regular file.")
        }
        return file
    }

    /// Renames an unusable entry to the first free name. Returns the new name, or nil if the entry cannot be renamed.
    func setAside(_ name: String) -> String? {
        for number in 1...1000 {
            let target = name + (number == 1 ? ".damaged" : ".damaged-\(number)")
            guard unsafe faccessat(descriptor, target, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else { continue }
            return unsafe renameat(descriptor, name, descriptor, target) == 0 ? target : nil
        }
        return nil
    }

    /// Creates an empty file with mode 0600, replacing one with the same name.
    func create(_ name: String) throws(StorageError) -> OpenFile {
        let opened = unsafe openat(descriptor, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw .last("\(path)/\(name) cannot be created") }
        return OpenFile(descriptor: opened, path: "\(path)/\(name)")
    }

    /// Whether a file with this name exists.
    func contains(_ name: String) -> Bool { unsafe faccessat(descriptor, name, F_OK, 0) == 0 }

    func rename(_ name: String, to target: String) throws(StorageError) {
        guard unsafe renameat(descriptor, name, descriptor, target) == 0 else { throw .last("\(path)/\(name) cannot be renamed") }
    }

    /// Removes a file; a missing file is not an error.
    func remove(_ name: String) throws(StorageError) {
        guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .last("\(path)/\(name) cannot be removed") }
    }
}

/// A file that is open for reading and writing. It closes itself.
struct OpenFile: ~Copyable {
    private let descriptor: Int32
    /// The path, for error messages.
    private let path: String

    /// The longest file that is read, because its contents are held in memory. Ticket files are far shorter.
    private static let maximumLength = 1 << 30

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Writes all bytes at an offset, usually with one system call. After a failure the caller must truncate what was written.
    func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written, offset + written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("\(path) cannot be written") }
            written += count
        }
    }

    /// Overwrites parts of the file as far as possible; ignores failures.
    func write(_ erasures: [Erasure]) {
        for erasure in erasures { try? write(erasure.bytes, at: erasure.offset) }
    }

    func truncate(to length: Int) throws(StorageError) {
        guard ftruncate(descriptor, length) == 0 else { throw .last("\(path) cannot be truncated to its last complete record") }
    }

    /// The time of the last modification in seconds since 1970; 0 if it cannot be read.
    var modified: UInt32 {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return 0 }
        return UInt32(clamping: status.st_mtim.tv_sec)
    }

    /// Reads the whole file.
    func read() throws(StorageError) -> [UInt8] {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last("\(path) cannot be read") }
        guard status.st_size <= Self.maximumLength else { throw StorageError(.system(EFBIG), "\(path) is too large for a ticket file.") }
        return try read(Int(status.st_size), at: 0)
    }

    /// Reads up to `length` bytes at an offset; fewer if the file ends before.
    func read(_ length: Int, at offset: Int) throws(StorageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        var count = 0
        while count < bytes.count {
            let step = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pread(descriptor, bytes.baseAddress?.advanced(by: count), bytes.count - count, offset + count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw .last("\(path) cannot be read") }
            guard step > 0 else { break }
            count += step
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
