internal import Foundation
internal import SystemSupport

/// Reports to the service manager that the agent is ready or stopping, by the datagram protocol of sd_notify(3).
package struct ServiceNotification: Sendable {
    private let path: String?

    /// Reads `NOTIFY_SOCKET` of an environment; without it, nothing is sent.
    package init(environment: [String: String]) { path = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } }

    /// Reports that the agent serves, with a sentence for `systemctl status`.
    ///
    /// - Parameter moved: The principals whose tickets were moved to the agent when it started, for `ksso agent run --background`.
    package func ready(_ status: String, moved: [String] = []) {
        let names = moved.map { "\n\(Self.moved)\($0.split(whereSeparator: \.isNewline).joined(separator: " "))" }
        send("READY=1\nSTATUS=\(status)\(names.joined())")
    }

    /// Reports the result of a keytab sign-in, with a sentence for `systemctl status`, which shows the last one. The `X_KSSO_SIGN_IN`
    /// variable is for `ksso agent run --background`, which uses the first one that it receives; systemd ignores variables that start with
    /// `X_`.
    package func signedIn(_ isSignedIn: Bool, _ status: String) {
        send("STATUS=\(status.split(whereSeparator: \.isNewline).joined(separator: " "))\n\(isSignedIn ? Self.done : Self.failed)")
    }

    /// The beginning of the variable with a principal whose tickets were moved.
    package static let moved = "X_KSSO_MOVED="
    /// The variable of a sign-in that succeeded.
    package static let done = "X_KSSO_SIGN_IN=done"
    /// The variable of a sign-in that failed.
    package static let failed = "X_KSSO_SIGN_IN=failed"

    /// Reports that the agent is stopping and accepts no new requests.
    package func stopping() { send("STOPPING=1") }

    private func send(_ message: String) {
        guard let path, let address = UnixSocketAddress(pathOrAbstractName: path) else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let text = Array(message.utf8)
        _ = unsafe address.lent { unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }
}
