import Foundation
import TestSupport
import Testing

/// systemd's end of the sd_notify(3) protocol.
final class NotificationSocket {
    let path: String
    /// The messages received so far.
    private(set) var messages: [String] = []
    private let descriptor: Int32

    init(path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        unlink(path)
        let bound = withUnsafeBytes(of: &address) {
            bind(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard bound == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EINVAL) }
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    /// Receives the pending messages without blocking.
    func look() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { return }
            messages.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }

    /// Waits for a message with this prefix.
    func wait(for message: String) async throws {
        try await eventually {
            look()
            return messages.contains { $0.hasPrefix(message) }
        }
    }
}
