#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The owner, the group and the mode of a file, as stat(2) reports them.
///
/// Targets above this one use it instead of `struct stat`: which module Swift finds that structure in depends on the modules that they
/// import.
package struct FileStatus: Sendable {
    package let owner: UInt32
    package let group: UInt32
    private let mode: UInt32

    /// Whether it is a regular file.
    package var isFile: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFREG) }
    /// Whether it is a directory.
    package var isDirectory: Bool { mode & UInt32(S_IFMT) == UInt32(S_IFDIR) }
    /// The permissions, with the bits for the set user and group ID.
    package var permissions: UInt32 { mode & 0o7777 }
    /// Whether a program in it runs as the file's owner.
    package var setsUser: Bool { mode & UInt32(S_ISUID) != 0 }

    /// The status of the file at a path; nil, with the reason in `errno`, if there is none.
    package init?(path: String, followsLinks: Bool = true) {
        var status = stat()
        guard unsafe (followsLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    /// The status of an open file; nil, with the reason in `errno`, if it is not open.
    package init?(descriptor: Int32) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        (owner, group, mode) = (status.st_uid, status.st_gid, UInt32(status.st_mode))
    }
}
