import Foundation
import SystemSupport
import Testing

@testable import SSOAgent

/// Notifications to systemd over the socket of NOTIFY_SOCKET.
@Suite struct ServiceNotificationTests {
    /// The socket has a path, or a name in Linux's abstract namespace, which is not a file.
    @Test(arguments: ["/tmp/", "@"])
    func `a notification arrives at a socket with a path and at one with an abstract name`(prefix: String) throws {
        let name = "\(prefix)ksso-\(UUID().uuidString)"
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        defer {
            close(descriptor)
            unlink(name)
        }
        let address = try #require(UnixSocketAddress(pathOrAbstractName: name))
        #expect(address.lent { bind(descriptor, $0, $1) } == 0)
        #expect(FileManager.default.fileExists(atPath: name) == name.hasPrefix("/"))
        ServiceNotification(environment: ["NOTIFY_SOCKET": name]).ready("serves", moved: ["alice@EXAMPLE.TEST"])
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        #expect(
            count > 0
                && String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
                    == "READY=1\nSTATUS=serves\nX_KSSO_MOVED=alice@EXAMPLE.TEST"
        )
    }

    @Test(arguments: [
        (String(repeating: "x", count: 107), true), (String(repeating: "x", count: 108), false), ("", false), ("a\0b", false),
    ])
    func `the path of a Unix socket has 1 to 107 bytes and contains no NUL`(path: String, isAddress: Bool) {
        #expect((UnixSocketAddress(path: path) != nil) == isAddress)
    }
}
