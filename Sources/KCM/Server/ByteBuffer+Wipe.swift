internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension ByteBuffer {
    /// Overwrites what can be read with zeros, in the memory itself: NIO's pool has the buffer too and gives it to the next connection.
    ///
    /// Nobody else may still want the bytes.
    func wipeInPlace() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
