internal import NIOCore
internal import Synchronization

/// The proxy's own connections to loopback addresses. To the kernel they belong to the proxy's user, whoever asked for them.
final class OwnConnections: Sendable {
    private struct State {
        var names: [TCPSocketName: Int] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Adds a connection until it closes. Call it before anything is sent.
    func add(_ channel: any Channel) {
        guard let name = channel.localAddress.flatMap({ TCPSocketName($0) }) else { return }
        let number = state.withLock { state in
            state.last += 1
            state.names[name] = state.last
            return state.last
        }
        channel.closeFuture.whenComplete { _ in
            // A later connection may have the same port.
            self.state.withLock { state in
                guard state.names[name] == number else { return }
                state.names[name] = nil
            }
        }
    }

    /// Whether the client of a connection is this proxy itself. True at the latest when it has received a byte.
    func isClient(of channel: any Channel) -> Bool {
        guard let name = channel.remoteAddress.flatMap({ TCPSocketName($0) }) else { return false }
        return state.withLock { $0.names[name] != nil }
    }
}

extension Channel {
    /// Whether a connection leads to a loopback address, also by way of an unspecified one such as 0.0.0.0.
    var leadsToLoopback: Bool { remoteAddress.flatMap { TCPSocketName($0) }?.isLoopback ?? true }
}
