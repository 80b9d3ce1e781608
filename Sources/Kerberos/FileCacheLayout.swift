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
