import Dispatch
import Foundation
import Glibc

/// A server at 127.0.0.1 that is no controller.
final class FaultyController: Sendable {
    enum Fault: CaseIterable, Sendable {
        /// Accepts, and says nothing.
        case silent
        /// Resets the connection after the first bytes.
        case reset
        /// Declares a message of 2 GiB, and begins to send it.
        case oversized
        /// Declares a message of 4 KiB, and sends a byte now and then.
        case dripping
        /// Answers with bytes that are no message.
        case garbage
        /// Closes the connection at once.
        case closing
    }

    let port: UInt16
    private let listener: Int32

    /// Starts the server, which serves one connection after the other.
    convenience init(_ fault: Fault) throws {
        try self.init { Self.serve($0, fault) }
    }

    /// Starts a server with a behaviour of its own, which need not close the connection.
    init(serving serve: @escaping @Sendable (Int32) -> Void) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) + listen(descriptor, 5) + getsockname(descriptor, $0, &size)
            }
        }
        guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        (listener, port) = (descriptor, UInt16(bigEndian: name.sin_port))
        DispatchQueue(label: "faulty controller").async {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                serve(connection)
                close(connection)
            }
            close(descriptor)
        }
    }

    /// Ends the server. A connection in progress ends with its client.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32, _ fault: Fault) {
        if fault == .closing { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
        switch fault {
        case .closing: break
        case .silent: while recv(connection, &buffer, buffer.count, 0) > 0 {}
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        case .oversized:
            guard send([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF, 0x02, 0x01, 0x01], to: connection) else { return }
            while send(buffer, to: connection) {}
        case .dripping:
            guard send([0x30, 0x84, 0, 0, 0x10, 0, 0x02, 0x01, 0x01], to: connection) else { return }
            // Until the client ends the connection.
            var entry = pollfd(fd: connection, events: 0, revents: 0)
            while poll(&entry, 1, 50) == 0, send([0], to: connection) {}
        case .garbage:
            guard send([UInt8](repeating: 0xFF, count: 100), to: connection) else { return }
            while recv(connection, &buffer, buffer.count, 0) > 0 {}
        }
    }

    private static func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
        Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0
    }
}
