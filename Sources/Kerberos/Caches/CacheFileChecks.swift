internal import CKerberos
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Checks the structure of a FILE cache of version 4 by its length fields alone; no ticket and no key is read.
///
/// libkrb5 takes a truncated ticket for the end of the cache, so it would report a damaged cache as a missing ticket.
struct FileCacheLayout: ~Copyable {
    private let descriptor: Int32
    private var offset: Int64 = 0
    private let size: Int64

    /// Whether the file is complete. A file that cannot be opened or has another version counts as complete: libkrb5 reports its faults.
    static func isWhole(_ path: String) -> Bool {
        guard var layout = FileCacheLayout(path), layout.number(bytes: 2) == 0x0504 else { return true }
        guard layout.skip(layout.number(bytes: 2)) else { return false }
        guard layout.offset < layout.size else { return true }  // created, and never written
        guard layout.skipPrincipal() else { return false }
        while layout.offset < layout.size {
            guard layout.skipCredential() else { return false }
        }
        return true
    }

    private init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        // libkrb5 takes this lock too, so no ticket is seen half-written. Closing the descriptor releases it.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        while fcntl(descriptor, ckerberos_wait_for_lock, &lock) != 0 && errno == EINTR {}
        size = Int64(lseek(descriptor, 0, SEEK_END))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads a big-endian number at the offset; nil past the end.
    private mutating func number(bytes count: Int) -> Int64? {
        var bytes = [UInt8](repeating: 0, count: count)
        guard pread(descriptor, &bytes, count, off_t(offset)) == count else { return nil }
        offset += Int64(count)
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }

    private mutating func skip(_ length: Int64?) -> Bool {
        guard let length, length <= size - offset else { return false }
        offset += length
        return true
    }

    /// Skips a four-byte length and as many bytes.
    private mutating func skipData() -> Bool { skip(number(bytes: 4)) }

    /// Skips the name type, the number of components, the realm and the components.
    private mutating func skipPrincipal() -> Bool {
        guard skip(4), let count = number(bytes: 4), skipData() else { return false }
        return skip(count: count) { $0.skipData() }
    }

    /// Skips client, server, key, four times, one byte, the flags, addresses, authorization data, the ticket and the second ticket.
    private mutating func skipCredential() -> Bool {
        guard skipPrincipal(), skipPrincipal(), skip(2), skipData(), skip(4 * 4 + 1 + 4) else { return false }
        for _ in 0..<2 {
            guard let count = number(bytes: 4), skip(count: count, { $0.skip(2) && $0.skipData() }) else { return false }
        }
        return skipData() && skipData()
    }

    private mutating func skip(count: Int64, _ skipOne: (inout FileCacheLayout) -> Bool) -> Bool {
        for _ in 0..<count where !skipOne(&self) { return false }
        return true
    }
}

/// Checks whether a cache file belongs to the user.
///
/// The default cache is often in `/tmp`, where any user can create a file of that name first: its reader would act as that user's
/// principal.
enum CacheFileOwnership {
    /// Throws unless the file is missing, or is a regular file that belongs to the user and that no other user can write. For a DIR
    /// collection, checks its directory too: libkrb5 opens a file there several times by its name.
    static func check(_ name: CredentialCacheName) throws(KerberosError) {
        try checkFolder(of: name)
        if let path = name.path, let fault = fault(of: path, type: S_IFREG) { throw unusable(name, fault) }
    }

    /// Throws unless the directory of a DIR collection is missing, or belongs to the user and no other user can write to it.
    static func checkFolder(of name: CredentialCacheName) throws(KerberosError) {
        guard let folder = name.folder, let fault = fault(of: folder, type: S_IFDIR) else { return }
        throw KerberosError(
            .cacheUnusable,
            subject: name.rawValue,
            message: "the collection's directory \(folder) cannot be used: \(fault). Run: chmod go-w \(shellWord(folder)), if it is yours; "
                + "or set KRB5CCNAME to another cache."
        )
    }

    private static func unusable(_ name: CredentialCacheName, _ fault: String) -> KerberosError {
        KerberosError(
            .cacheUnusable,
            subject: name.rawValue,
            message: "this credential cache cannot be used: \(fault). Remove the file, or set KRB5CCNAME to another cache."
        )
    }

    /// Does the same check for an armor cache, which may also belong to root. For a DIR collection, checks the directory.
    static func checkArmor(_ name: CredentialCacheName) throws(KerberosError) {
        let isFolder = name.type == "DIR" && name.isCollection
        guard let path = isFolder ? name.folder : name.path,
            let fault = fault(of: path, type: isFolder ? S_IFDIR : S_IFREG, mayBeRoots: true)
        else { return }
        throw KerberosError(
            .armorUnusable,
            subject: name.rawValue,
            message: "the armor ticket (FAST) cannot be used: \(fault). Make root or the user the owner of \(path), "
                + "and remove write access for others: chmod go-w \(path)"
        )
    }

    /// Why a file must not be used; nil if it may be used or does not exist.
    private static func fault(of path: String, type: mode_t, mayBeRoots: Bool = false) -> String? {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        if information.st_mode & S_IFMT != type { return type == S_IFDIR ? "it is not a directory" : "it is not a regular file" }
        if information.st_uid != geteuid(), !mayBeRoots || information.st_uid != 0 {
            return "it is owned by the user with uid \(information.st_uid)"
        }
        return information.st_mode & 0o022 == 0 ? nil : "other users can write to it"
    }
}
