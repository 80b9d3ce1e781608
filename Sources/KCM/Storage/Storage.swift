internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The directory in which a server stores the caches of its users, with a folder for each user, named with the user's number.
///
/// A folder contains one file for each cache, in version 4 of libkrb5's format, so that `klist -c FILE:…` can read it. Once open, used only
/// on the server's event loop.
final class Storage {
    private let directory: OpenDirectory

    /// Opens the directory, creates it if it does not exist, and locks it against other servers.
    init(_ path: String) throws(StorageError) {
        directory = try OpenDirectory(path)
        try directory.lock()
    }

    /// Unlocks the directory.
    func close() { directory.unlock() }

    /// Returns the users who have a folder.
    func users() throws(StorageError) -> [UInt32] { try directory.names().compactMap { UInt32($0) }.sorted() }

    /// Removes the folder of a user who has no caches. A folder that contains renamed damaged files stays.
    func removeFolder(of user: UInt32) { directory.removeFolder(String(user)) }

    /// Returns the files of a user; creates the folder if it does not exist. An entry that is not a folder is renamed.
    func user(_ user: UInt32) throws(StorageError) -> UserStorage {
        let name = String(user)
        do {
            return UserStorage(try directory.folder(name))
        } catch {
            guard error.code == .notADirectory, let newName = directory.setAside(name) else { throw error }
            let entry = DamagedEntry(path: "\(directory.path)/\(name)", reason: "it is not a directory, or it is a link", newName: newName)
            return UserStorage(try directory.folder(name), damagedEntries: [entry])
        }
    }
}

/// The reason why caches cannot be stored in a directory, or a change cannot be written.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Hashable, Sendable {
        /// The entry at the path is not a directory, or is a symbolic link.
        case notADirectory
        /// An entry is not a regular file, but a directory, a link or a pipe; or its contents are not valid.
        case notAFile
        /// The directory is owned by another user.
        case wrongOwner
        /// Users other than the owner can access the directory.
        case wrongMode
        /// Another server stores its caches in the directory.
        case inUse
        /// A system call failed with this `errno`.
        case system(Int32)
    }

    /// The kind of failure.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Whether only this entry is affected, so that the process can open other files.
    var isOfEntry: Bool {
        switch code {
        case .notADirectory, .notAFile: true
        case .wrongOwner, .wrongMode, .inUse: false
        case .system(let number): [EACCES, EPERM, EISDIR, EIO, ENAMETOOLONG, EOVERFLOW, EFBIG].contains(number)
        }
    }

    /// Whether the process lacks a resource that every file needs.
    var isOfProcess: Bool { if case .system(let number) = code { [EMFILE, ENFILE, ENOMEM].contains(number) } else { false } }

    /// Creates an error from the current `errno`.
    static func last(_ what: String) -> StorageError {
        let number = errno
        return StorageError(.system(number), "\(what): \(unsafe String(cString: strerror(number))).")
    }
}

/// An entry among the ticket files that is not a cache file or cannot be read, and what was done with it.
package struct DamagedEntry: Hashable, Sendable, CustomStringConvertible {
    /// Its original path.
    package let path: String
    /// What is wrong with it.
    package let reason: String
    /// Its new name in the same folder; nil if it could not be renamed.
    package let newName: String?

    package var description: String {
        let end = newName.map { "It was renamed to \($0), and the other tickets are served." } ?? "It is ignored; remove it."
        return "\(path): \(reason). \(end)"
    }
}

/// A cache's file whose end was removed, because it was not a complete record.
package struct TruncatedFile: Hashable, Sendable, CustomStringConvertible {
    package let path: String
    /// The number of bytes that were removed.
    package let count: Int

    package var description: String {
        "\(path): the end of the file was removed (\(quantity(count, "byte"))), because it is not a complete ticket. "
            + "The server or the machine stopped while it was written, or the file was damaged."
    }
}
