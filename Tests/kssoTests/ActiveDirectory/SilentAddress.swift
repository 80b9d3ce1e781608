import Foundation

/// UDP and TCP ports of a loopback address that accept data and never answer, as a host behind a firewall.
final class SilentAddress: Sendable {
    private let sockets: [Int32]

    struct Failure: Error { let number: Int32 }

    init(_ address: String, ports: [UInt16]) throws {
        var sockets: [Int32] = []
        for port in ports {
            for type in [SOCK_STREAM, SOCK_DGRAM] {
                var name = sockaddr_in()
                name.sin_family = sa_family_t(AF_INET)
                name.sin_port = port.bigEndian
                inet_pton(AF_INET, address, &name.sin_addr)
                let descriptor = socket(AF_INET, Int32(type.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                var yes: Int32 = 1
                setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
                setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, socklen_t(MemoryLayout<Int32>.size))
                let status = withUnsafePointer(to: name) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                sockets.append(descriptor)
                guard descriptor >= 0, status == 0, type == SOCK_DGRAM || listen(descriptor, 16) == 0 else {
                    let number = errno
                    for socket in sockets { close(socket) }
                    throw Failure(number: number)
                }
            }
        }
        self.sockets = sockets
    }

    deinit { for socket in sockets { close(socket) } }
}
