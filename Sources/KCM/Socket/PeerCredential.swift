package import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The process that opened a connection, as recorded by the kernel at that time (`SO_PEERCRED`, unix(7)). Passing the descriptor on does
/// not change it.
package struct PeerCredential: Hashable, Sendable {
    /// The process. It may have exited since, and its number may have been reused.
    package let processID: Int32
    /// The effective user.
    package let userID: UInt32
    /// The effective group.
    package let groupID: UInt32

    package init(processID: Int32, userID: UInt32, groupID: UInt32) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
    }

    /// The user that the kernel reports for users that it cannot map, such as those of another user namespace.
    package static let overflowUser: UInt32 = 65534

    /// Returns the peer of a channel over a Unix socket; nil if the kernel does not report one.
    ///
    /// Call it on the channel's event loop.
    package init?(_ channel: any Channel) {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        // `struct ucred`, which Glibc's module does not declare: three 32-bit integers.
        let asked: EventLoopFuture<(Int32, UInt32, UInt32)> = provider.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        // On the channel's own event loop the option is read immediately.
        var credential: (process: Int32, user: UInt32, group: UInt32)?
        asked.assumeIsolated().whenSuccess { credential = $0 }
        guard let (process, user, group) = credential else { return nil }
        self.init(processID: process, userID: user, groupID: group)
    }
}
