#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The directory in which a server keeps the caches of its users: a folder for each, named by the user's number.
///
/// In a folder is a file for each cache, in version 4 of libkrb5's own format, so that `klist -c FILE:…` reads it. On the server's event
/// loop alone, once it is open.
final class Storage {
    private let directory: OpenDirectory

    /// Opens the directory, makes it where it is missing, and keeps other servers out.
    init(_ path: String) throws(StorageError) {
        directory = try OpenDirectory(path)
        try directory.lock()
    }

    /// Lets other servers in.
    func close() { directory.unlock() }

    /// The users who have a folder.
    func users() throws(StorageError) -> [UInt32] { try directory.names().compactMap { UInt32($0) }.sorted() }

    /// Removes the folder of a user who has no cache; what is put aside there stays.
    func removeFolder(of user: UInt32) { directory.removeFolder(String(user)) }

    /// The files of a user, in a folder that is made where it is missing. What is no folder is set aside.
    func user(_ user: UInt32) throws(StorageError) -> UserStorage {
        let name = String(user)
        do {
            return UserStorage(try directory.folder(name))
        } catch {
            guard error.code == .notADirectory, let newName = directory.setAside(name) else { throw error }
            let entry = DamagedEntry(path: "\(directory.path)/\(name)", reason: "it is no directory, or a link", newName: newName)
            return UserStorage(try directory.folder(name), damagedEntries: [entry])
        }
    }
}

/// Why caches can't be kept in a directory, or a change can't be written there.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Code: Hashable, Sendable {
        /// What stands at the path is no directory, or a link to one.
        case notADirectory
        /// What is among the files is none: a directory, a link, a pipe.
        case notAFile
        /// The directory is another user's.
        case wrongOwner
        /// Others than the owner may enter the directory.
        case wrongMode
        /// Another server keeps its caches there.
        case inUse
        /// The system refused.
        case system(Int32)
    }

    /// What kind of failure it was.
    package let code: Code
    /// A sentence that says what failed and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Whether it says something of the entry itself: the process may open other files.
    var isOfEntry: Bool {
        switch code {
        case .notADirectory, .notAFile: true
        case .wrongOwner, .wrongMode, .inUse: false
        case .system(let number): [EACCES, EPERM, EISDIR, EIO, ENAMETOOLONG, EOVERFLOW, EFBIG].contains(number)
        }
    }

    /// Whether the process lacks what any file takes.
    var isOfProcess: Bool { if case .system(let number) = code { [EMFILE, ENFILE, ENOMEM].contains(number) } else { false } }

    /// What `errno` says now.
    static func last(_ what: String) -> StorageError {
        let number = errno
        return StorageError(.system(number), "\(what): \(unsafe String(cString: strerror(number))).")
    }
}

/// An entry among the ticket files that is no file of a cache, or none that can be read, and what became of it.
package struct DamagedEntry: Hashable, Sendable, CustomStringConvertible {
    /// Where it was.
    package let path: String
    /// What is wrong with it.
    package let reason: String
    /// The name that it has now, in the same folder; nil where it could not be renamed.
    package let newName: String?

    package var description: String {
        let end = newName.map { "It is now \($0), and the other tickets are served." } ?? "It is ignored; remove it."
        return "\(path): \(reason). \(end)"
    }
}
