import Foundation

/// A listening socket that occupies a TCP port.
struct Listener: ~Copyable {
    private struct Refused: Error {
        let code: Int32
    }

    private let descriptor: Int32

    init(port: Int, address text: String = "127.0.0.1") throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr = in_addr(s_addr: inet_addr(text))
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(descriptor, 1) == 0 else {
            let refused = Refused(code: errno)
            close(descriptor)
            throw refused
        }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Whether no other socket listens on a port.
    static func canListen(at port: Int, of address: String) -> Bool {
        do {
            _ = try Listener(port: port, address: address)
            return true
        } catch {
            return false
        }
    }
}
