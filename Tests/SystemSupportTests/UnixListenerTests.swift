import Foundation
import Testing

@testable import SystemSupport

/// Whether a process listens at a Unix socket.
struct UnixListenerTests {
    @Test func `a listener is found with its process, also when its queue is full`() throws {
        let address = try #require(UnixSocketAddress(pathOrAbstractName: "@ksso-\(UUID().uuidString)"))
        #expect(address.listener() == .absent)
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        defer { close(server) }
        try #require(address.lent { bind(server, $0, $1) } == 0)
        #expect(address.listener() == .absent, "it is bound, but does not listen")
        // Linux accepts one connection more than the number.
        try #require(listen(server, 0) == 0)
        let peer = try #require(address.listener()?.peer)
        #expect(peer.processID == getpid() && peer.userID == geteuid())
        #expect(address.listener() == .busy)
    }

    @Test func `a file that is no socket has no listener`() throws {
        #expect(try #require(UnixSocketAddress(path: "/dev/null")).listener() == .absent)
        #expect(try #require(UnixSocketAddress(path: "/nonexistent")).listener() == .absent)
    }
}

extension UnixListener {
    /// The process that accepts connections.
    fileprivate var peer: UnixPeer? { if case .accepting(let peer) = self { peer } else { nil } }
}
