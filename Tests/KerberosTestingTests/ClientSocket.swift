import Foundation

/// A socket connected to a port. With TCP, the kernel accepts the connection even if the server does not.
struct ClientSocket: ~Copyable {
    enum Transport {
        case tcp, udp
    }

    private struct Failed: Error {
        let code: Int32
    }

    private let descriptor: Int32

    init(port: Int, _ transport: Transport = .tcp) throws {
        let kind = transport == .tcp ? SOCK_STREAM : SOCK_DGRAM
        descriptor = socket(AF_INET, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr = in_addr(s_addr: inet_addr("127.0.0.1"))
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failed(code: errno) }
    }

    borrowing func send(_ bytes: [UInt8]) throws {
        guard Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failed(code: errno)
        }
    }

    deinit {
        close(descriptor)
    }
}
