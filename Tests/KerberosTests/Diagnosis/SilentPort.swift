import Foundation

/// A UDP and a TCP port with the same number on loopback that receive data and never answer.
final class SilentPort: Sendable {
    let port: Int
    private let sockets: [Int32]

    struct Failure: Error {}

    init() throws {
        for _ in 0..<100 {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let port = try Self.bind(listener, to: 0)
            listen(listener, 16)
            let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            if (try? Self.bind(datagrams, to: port)) != nil {
                self.port = port
                sockets = [listener, datagrams]
                return
            }
            close(listener)
            close(datagrams)
        }
        throw Failure()
    }

    deinit { for socket in sockets { close(socket) } }

    private static func bind(_ socket: Int32, to port: Int) throws -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.bind(socket, address, length) == 0 ? getsockname(socket, address, &length) : -1
            }
        }
        guard socket >= 0, status == 0 else { throw Failure() }
        return Int(in_port_t(bigEndian: address.sin_port))
    }
}
