internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension AgentConnection {
    /// Whom a socket belongs to that is believed: passwords go there, and what comes back goes into requests.
    struct Owner: Sendable {
        /// The user whose agent is meant, such as a service's; nil is this process's own.
        var user: UInt32?

        /// The user who listens, as the kernel says (`SO_PEERCRED`), or root, who may listen for anybody.
        func permits(_ listener: UInt32) -> Bool { listener == user ?? geteuid() || listener == 0 }
    }

    /// Nothing is sent to a listener that is somebody else's. On the channel's event loop.
    static func check(_ channel: any Channel, _ owner: Owner, path: String) throws {
        guard let provider = channel as? any SocketOptionProvider else { return }
        // `struct ucred`, which the C library's module does not declare: process, user, group.
        let asked: EventLoopFuture<(Int32, UInt32, UInt32)> = provider.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        // On its own event loop a socket's option is read at once.
        var listener: UInt32?
        asked.assumeIsolated().whenSuccess { listener = $0.1 }
        guard let listener, owner.permits(listener) else {
            channel.close(promise: nil)
            throw Failure.broken("another user listens there")
        }
    }
}
