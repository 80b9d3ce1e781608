internal import Foundation
internal import Kerberos
internal import NIOCore
internal import Synchronization

/// The listening sockets and the open connections, counted so that they can be limited and closed.
final class ConnectionTable: Sendable {
    private struct State {
        /// By the paths at which they are bound.
        var listeners: [String: any Channel] = [:]
        var connections: [ObjectIdentifier: (channel: any Channel, user: UInt32)] = [:]
        var counts: [UInt32: Int] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())

    /// The limits for one user and for all users. All users together get a quarter of the descriptors, so that enough remain for the caches
    /// and the KDCs.
    private let limits: (user: Int, all: Int)

    /// - Parameter descriptors: The process's limit of open descriptors.
    init(descriptors: Int = ProcessProtection.fileLimit) {
        let all = max(8, min(4096, descriptors / 4))
        limits = (min(1024, all), all)
    }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// Adds a listening channel, and closes the former one at the same path. Connections that are open stay open.
    ///
    /// - Returns: False when everything ends.
    func add(listener: any Channel, at path: String) -> Bool {
        let (isTaken, former): (Bool, (any Channel)?) = state.withLock { state in
            guard !state.isEnding else { return (false, nil) }
            return (true, state.listeners.updateValue(listener, forKey: path))
        }
        former?.close(promise: nil)
        return isTaken
    }

    /// Adds a connection; returns false if a limit is reached, or during shutdown.
    func add(_ channel: any Channel, user: UInt32) -> Bool {
        let key = ObjectIdentifier(channel)
        let isTaken = state.withLock { state in
            guard !state.isEnding, state.counts[user, default: 0] < limits.user else { return false }
            // Other users can use only half of the connections, so that the rest is left for the agent's own user.
            guard state.connections.count < (user == geteuid() ? limits.all : limits.all / 2) else { return false }
            state.connections[key] = (channel, user)
            state.counts[user, default: 0] += 1
            return true
        }
        guard isTaken else { return false }
        channel.closeFuture.whenComplete { _ in self.remove(key) }
        return true
    }

    private func remove(_ key: ObjectIdentifier) {
        state.withLock { state in
            guard let user = state.connections.removeValue(forKey: key)?.user else { return }
            state.counts[user, default: 1] -= 1
            if state.counts[user] == 0 { state.counts[user] = nil }
        }
    }

    /// Stops accepting connections, and makes each connection close after its pending response.
    func quiesce() {
        let (listeners, channels) = state.withLock { state in
            state.isEnding = true
            return (Array(state.listeners.values), state.connections.values.map(\.channel))
        }
        for listener in listeners { listener.close(promise: nil) }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    /// Closes the remaining connections.
    func closeAll() {
        for channel in state.withLock({ $0.connections.values.map(\.channel) }) { channel.close(promise: nil) }
    }
}
