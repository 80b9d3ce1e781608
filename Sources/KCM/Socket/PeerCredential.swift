package import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Who opened a connection, as the kernel saw it then (`SO_PEERCRED`, unix(7)). A descriptor that is passed on keeps its first owner.
package struct PeerCredential: Hashable, Sendable {
    /// The process. It may have ended since, and its number may be another's.
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

    /// What the kernel says of users that it can't name here, such as those of another user namespace.
    package static let overflowUser: UInt32 = 65534

    /// The peer of a channel over a Unix socket; nil where the kernel tells nothing.
    ///
    /// On the channel's event loop.
    package init?(_ channel: any Channel) {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        // `struct ucred`: three numbers of 32 bits, which Glibc's module does not declare.
        let asked: EventLoopFuture<(Int32, UInt32, UInt32)> = provider.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        // On its own event loop a socket's option is read at once.
        var credential: (process: Int32, user: UInt32, group: UInt32)?
        asked.assumeIsolated().whenSuccess { credential = $0 }
        guard let (process, user, group) = credential else { return nil }
        self.init(processID: process, userID: user, groupID: group)
    }
}
