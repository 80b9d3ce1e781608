internal import Glibc

/// A TCP port of 127.0.0.1 that refuses connections, and that no other program gets meanwhile.
///
/// A server that has stopped does not do that: a process that is started at that moment has its socket until it executes its program.
package final class ClosedPort: Sendable {
    package struct Failed: Error {
        package let code: Int32
    }

    package let number: Int
    /// Bound, but it never listens.
    private let descriptor: Int32

    package init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failed(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: inet_addr("127.0.0.1"))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, pointer, length) == 0 ? getsockname(descriptor, pointer, &length) : -1
        }
        number = Int(UInt16(bigEndian: address.sin_port))
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Failed(code: code)
        }
    }

    deinit { close(descriptor) }
}
