#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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
