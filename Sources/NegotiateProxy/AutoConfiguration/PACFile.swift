#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The PAC file at a path.
enum PACFile {
    /// The version of a file, which changes when the file is written or replaced.
    struct Version: Hashable {
        private let numbers: [Int]

        /// The version of the file at a path; nil if there is none.
        init?(path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            #if canImport(Darwin)
                let (written, changed) = (status.st_mtimespec, status.st_ctimespec)
            #else
                let (written, changed) = (status.st_mtim, status.st_ctim)
            #endif
            numbers = [
                Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
                Int(written.tv_sec), Int(written.tv_nsec), Int(changed.tv_sec), Int(changed.tv_nsec),
            ]
        }
    }

    /// Reads a file of at most the size of a PAC file and one byte.
    ///
    /// - Throws: A `RoutingError` that names the location.
    static func read(_ path: String, _ location: PACLocation) throws(RoutingError) -> [UInt8] {
        // Without O_NONBLOCK, opening a named pipe would wait for its writer.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(location) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(location) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw RoutingError("The PAC file \(location) is not a regular file: name a file that contains the script.")
        }
        var contents: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while contents.count <= PACScript.limit {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                #if canImport(Glibc)
                    unsafe Glibc.read(descriptor, bytes.baseAddress, bytes.count)
                #elseif canImport(Musl)
                    unsafe Musl.read(descriptor, bytes.baseAddress, bytes.count)
                #else
                    unsafe Darwin.read(descriptor, bytes.baseAddress, bytes.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(location) }
            if count == 0 { break }
            contents += buffer[..<count]
        }
        return contents
    }

    private static func failure(_ location: PACLocation) -> RoutingError {
        let reason = unsafe String(cString: strerror(errno))
        return RoutingError("The PAC file \(location) cannot be read (\(reason)): make it readable, or correct the location.")
    }
}
