internal import Foundation

/// Tells who started the agent that it is ready, or that it stops: the datagram protocol of sd_notify(3).
package struct ServiceNotification: Sendable {
    private let path: String?

    /// `NOTIFY_SOCKET` of an environment; without it nothing is told to anybody.
    package init(environment: [String: String]) { path = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } }

    /// The agent serves; with a sentence for `systemctl status`.
    package func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

    /// The agent ends: it takes no new requests.
    package func stopping() { send("STOPPING=1") }

    private func send(_ message: String) {
        guard let path else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A name that begins with @ is in the abstract name space, where a zero byte stands in its place.
        let name = Array(path.utf8).enumerated().map { $0 == 0 && $1 == UInt8(ascii: "@") ? 0 : $1 }
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard name.count < place.count else { return false }
            unsafe place.copyBytes(from: name)
            return true
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard fits, descriptor >= 0 else { return }
        defer { close(descriptor) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + socklen_t(name.count)
        let text = Array(message.utf8)
        unsafe withUnsafeBytes(of: &address) {
            let address = unsafe $0.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            _ = unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), address, length)
        }
    }
}
