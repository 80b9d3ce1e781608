import Foundation
import Testing

@testable import Kerberos

/// Connections to a server that may be silent.
@Suite struct ServerConnectionTests {
    /// A listening socket of 127.0.0.1, and its port.
    private func listener() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) + listen(descriptor, 5) + getsockname(descriptor, $0, &size)
            }
        }
        try #require(status == 0)
        return (descriptor, UInt16(bigEndian: name.sin_port))
    }

    @Test func `the first address that answers is used`() throws {
        let server = try listener()
        defer { close(server.descriptor) }
        let socket = try #require(ServerConnection.open(to: ["127.0.0.2", "127.0.0.1"], port: server.port, within: .seconds(20)))
        defer { close(socket) }
        #expect(fcntl(socket, F_GETFL) & O_NONBLOCK == 0)
        #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func `a closed port and a name without addresses have no connection`() throws {
        let server = try listener()
        close(server.descriptor)
        #expect(ServerConnection.open(to: ["127.0.0.1"], port: server.port, within: .seconds(20)) == nil)
        #expect(ServerConnection.open(to: [], port: server.port, within: .seconds(20)) == nil)
    }

    @Test func `a deadline ends a connection whose server says nothing`() throws {
        let server = try listener()
        defer { close(server.descriptor) }
        let socket = try #require(ServerConnection.open(to: ["127.0.0.1"], port: server.port, within: .seconds(60)))
        let deadline = SocketDeadline(of: socket, after: .milliseconds(50))
        var byte: UInt8 = 0
        #expect(recv(socket, &byte, 1, 0) == 0, "the end of the connection, and no timeout")
        deadline.end()
        close(socket)
    }
}
