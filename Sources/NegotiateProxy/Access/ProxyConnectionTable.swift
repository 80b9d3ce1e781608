internal import NIOCore
internal import Synchronization

/// The proxy's own connections to this machine. The kernel names the proxy's user as their owner, also if another user requested them.
final class ProxyConnectionTable: Sendable {
    /// Both ends of a connection. One end alone is not enough, because the kernel gives the same port to connections with different
    /// servers.
    private struct Ends: Hashable {
        let client: TCPSocketName
        let server: TCPSocketName

        init?(client: SocketAddress?, server: SocketAddress?) {
            guard let client = client.flatMap({ TCPSocketName($0) }), let server = server.flatMap({ TCPSocketName($0) }) else { return nil }
            (self.client, self.server) = (client, server)
        }
    }

    private struct State {
        var numbers: [Ends: Int] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Adds a connection until it closes. Call it before anything is sent.
    func add(_ channel: any Channel) {
        guard let ends = Ends(client: channel.localAddress, server: channel.remoteAddress) else { return }
        let number = state.withLock { state in
            state.last += 1
            state.numbers[ends] = state.last
            return state.last
        }
        channel.closeFuture.whenComplete { _ in
            // A later connection may have the same ends.
            self.state.withLock { state in
                guard state.numbers[ends] == number else { return }
                state.numbers[ends] = nil
            }
        }
    }

    /// Whether the client of a connection is this proxy itself. True at the latest when it has received a byte.
    func isClient(of channel: any Channel) -> Bool {
        guard let ends = Ends(client: channel.remoteAddress, server: channel.localAddress) else { return false }
        return state.withLock { $0.numbers[ends] != nil }
    }
}

extension Channel {
    /// Whether a connection leads to this machine: to a loopback address, also by way of an unspecified one such as 0.0.0.0, or to another
    /// address of its own. The kernel connects from a different address if that one is not the first of its interface.
    var leadsToThisMachine: Bool {
        guard let remote = remoteAddress.flatMap({ TCPSocketName($0) }) else { return true }
        if remote.isLoopback || localAddress.flatMap({ TCPSocketName($0) })?.address == remote.address { return true }
        // If the kernel does not say, other users are refused.
        return KernelRoute.isLocal(remote.address) ?? true
    }
}
