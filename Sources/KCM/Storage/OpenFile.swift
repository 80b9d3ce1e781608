#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A file that is open for reading and writing. It closes itself.
struct OpenFile: ~Copyable {
    private let descriptor: Int32
    /// For messages.
    private let path: String

    /// More than a file of tickets has, by far: what is read is kept in memory.
    private static let maximumLength = 1 << 30

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Writes all bytes at a place; usually by one call of the system. What a failure leaves there is the caller's to cut off.
    func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written, offset + written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("\(path) can't be written") }
            written += count
        }
    }

    /// Overwrites places, as far as it can be done.
    func write(_ erasures: [Erasure]) {
        for erasure in erasures { try? write(erasure.bytes, at: erasure.offset) }
    }

    func truncate(to length: Int) throws(StorageError) {
        guard ftruncate(descriptor, length) == 0 else { throw .last("\(path) can't be cut to its last whole record") }
    }

    /// When it was written last, in seconds since 1970; 0 where that can't be read.
    var modified: UInt32 {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return 0 }
        return UInt32(clamping: status.st_mtim.tv_sec)
    }

    /// The whole content.
    func read() throws(StorageError) -> [UInt8] {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .last("\(path) can't be read") }
        guard status.st_size <= Self.maximumLength else { throw StorageError(.system(EFBIG), "\(path) is too long for a file of tickets.") }
        return try read(Int(status.st_size), at: 0)
    }

    /// So many bytes from a place on, or what there is of them.
    func read(_ length: Int, at offset: Int) throws(StorageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        var count = 0
        while count < bytes.count {
            let step = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe pread(descriptor, bytes.baseAddress?.advanced(by: count), bytes.count - count, offset + count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw .last("\(path) can't be read") }
            guard step > 0 else { break }
            count += step
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
