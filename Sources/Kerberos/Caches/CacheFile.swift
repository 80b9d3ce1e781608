internal import CKerberos

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Walks a FILE cache of version 4 by its lengths alone; no ticket and no key is read.
///
/// libkrb5 takes a ticket that is cut off for the end of the cache, and so would say of a damaged cache that a ticket is missing.
struct FileCacheLayout: ~Copyable {
    private let descriptor: Int32
    private var offset: Int64 = 0
    private let size: Int64

    /// Whether the file is whole. One that can't be opened, or has another version, counts as whole: libkrb5 is the judge of it.
    static func isWhole(_ path: String) -> Bool {
        guard var layout = FileCacheLayout(path), layout.number(bytes: 2) == 0x0504 else { return true }
        guard layout.skip(layout.number(bytes: 2)), layout.skipPrincipal() else { return false }
        while layout.offset < layout.size {
            guard layout.skipCredential() else { return false }
        }
        return true
    }

    private init?(_ path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        // As libkrb5 does: a ticket that another program is adding is not half of one. Closing the descriptor ends the lock.
        var lock = flock()
        lock.l_type = Int16(F_RDLCK)
        lock.l_whence = Int16(SEEK_SET)
        while fcntl(descriptor, ckerberos_wait_for_lock, &lock) != 0 && errno == EINTR {}
        size = Int64(lseek(descriptor, 0, SEEK_END))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// A big-endian number at the offset; nil past the end.
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

    /// A length of four bytes and as many bytes.
    private mutating func skipData() -> Bool { skip(number(bytes: 4)) }

    /// The name's type, the number of components, the realm, the components.
    private mutating func skipPrincipal() -> Bool {
        guard skip(4), let count = number(bytes: 4), skipData() else { return false }
        return skip(count: count) { $0.skipData() }
    }

    /// Client, server, key, four times, one byte and the flags, addresses, authorization data, the ticket and a second one.
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

/// Whether a cache that is a file is the user's own.
///
/// The default cache often lies in `/tmp`, where anybody can put a file of that name first: who reads it would act as its maker.
enum CacheFileOwnership {
    /// Throws unless the file is not there, or is a plain file that belongs to the user and that nobody else can write.
    static func check(_ name: CredentialCacheName) throws(KerberosError) {
        guard let path = name.path, let fault = fault(of: path, type: S_IFREG) else { return }
        throw KerberosError(
            .cacheUnusable,
            subject: name.rawValue,
            message: "this credential cache is not used: \(fault). Remove the file, or set KRB5CCNAME to another cache."
        )
    }

    /// The same for a cache whose ticket protects sign-ins: the machine's may be root's. Of a collection the folder is looked at.
    static func checkArmor(_ name: CredentialCacheName) throws(KerberosError) {
        let isFolder = name.type == "DIR" && name.isCollection
        guard let path = isFolder ? name.residual : name.path,
            let fault = fault(of: path, type: isFolder ? S_IFDIR : S_IFREG, mayBeRoots: true)
        else { return }
        throw KerberosError(
            .armorUnusable,
            subject: name.rawValue,
            message: "the ticket that protects the sign-in is not used: \(fault). Have \(path) belong to root or to the user, "
                + "and let nobody else write to it: chmod go-w \(path)"
        )
    }

    /// What keeps a file from being used; nil where nothing does, or nothing is there.
    private static func fault(of path: String, type: mode_t, mayBeRoots: Bool = false) -> String? {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        if information.st_mode & S_IFMT != type { return type == S_IFDIR ? "it is no folder" : "it is no plain file" }
        if information.st_uid != geteuid(), !mayBeRoots || information.st_uid != 0 {
            return "it belongs to the user with uid \(information.st_uid)"
        }
        return information.st_mode & 0o022 == 0 ? nil : "others can write to it"
    }
}
