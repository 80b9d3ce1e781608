internal import NIOCore
internal import SystemSupport

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Finds the user of the process at the other end of a connection on this machine.
enum PeerUser {
    /// The user of this process, whose tickets the proxy uses.
    static var own: UInt32 { geteuid() }

    /// Returns the user ID; nil if the kernel does not know it (any more). Takes some microseconds, without the network.
    static func userID(of channel: any Channel) async -> UInt32? {
        guard let remote = channel.remoteAddress, let local = channel.localAddress else { return nil }
        switch remote {
        case .unixDomainSocket: return await unixUserID(of: channel)
        case .v4, .v6:
            guard let client = TCPSocketName(remote), let server = TCPSocketName(local) else { return nil }
            return TCPSocketTable.userID(from: client, to: server)
        }
    }

    private static func unixUserID(of channel: any Channel) async -> UInt32? {
        guard let provider = channel as? any SocketOptionProvider else { return nil }
        // `struct ucred`, which Glibc's module does not declare: process, user, group.
        let peer: EventLoopFuture<UnixCredential> = provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: SOL_SOCKET),
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        )
        return try? await peer.get().userID
    }
}

/// `struct ucred` of unix(7).
struct UnixCredential: Sendable {
    var processID: Int32 = 0
    var userID: UInt32 = .max
    var groupID: UInt32 = .max
}

extension TCPSocketName {
    /// Nil for a Unix socket.
    init?(_ socket: SocketAddress) {
        guard let port = socket.port else { return nil }
        // `struct sockaddr_in` has the address at byte 4, `struct sockaddr_in6` at byte 8.
        let all = unsafe socket.withSockAddr { unsafe Array(UnsafeRawBufferPointer(start: $0, count: $1)) }
        let bytes = Array(socket.protocol == .inet ? all[4..<8] : all[8..<24])
        let isMapped = bytes.count == 16 && bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        self.init(address: isMapped ? Array(bytes.suffix(4)) : bytes, port: UInt16(port))
    }
}
