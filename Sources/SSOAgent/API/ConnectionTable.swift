internal import Foundation
internal import Kerberos
internal import NIOCore
internal import Synchronization

/// The open connections and streams of events, so that they can be counted and ended.
final class ConnectionTable: Sendable {
    private struct State {
        /// By the paths at which they are bound.
        var listeners: [String: any Channel] = [:]
        var connections: [ObjectIdentifier: (channel: any Channel, user: UInt32)] = [:]
        var counts: [UInt32: Int] = [:]
        var streams: [Int: AsyncStream<EventStreamPart>.Continuation] = [:]
        var nextStream = 0
        var isEnding = false
    }

    private let state = Mutex(State())

    /// Connections of one user, and those of all: a quarter of the descriptors, so that the caches and the KDCs have theirs.
    private let limits: (user: Int, all: Int)

    /// - Parameter descriptors: How many the process may have open.
    init(descriptors: Int = ProcessProtection.fileLimit) {
        let all = max(8, min(4096, descriptors / 4))
        limits = (min(1024, all), all)
    }

    /// How many are open.
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

    /// Takes a connection in; false where its user has too many, or when everything ends.
    func add(_ channel: any Channel, user: UInt32) -> Bool {
        let key = ObjectIdentifier(channel)
        let isTaken = state.withLock { state in
            guard !state.isEnding, state.counts[user, default: 0] < limits.user else { return false }
            // Other users leave half to the agent's own.
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

    /// A stream that is ended with everything else.
    func add(stream: AsyncStream<EventStreamPart>.Continuation) -> Int {
        let number = state.withLock { state -> Int in
            state.nextStream += 1
            if !state.isEnding { state.streams[state.nextStream] = stream }
            return state.isEnding ? 0 : state.nextStream
        }
        if number == 0 { stream.finish() }
        return number
    }

    /// Forgets a stream.
    func remove(stream: Int) { state.withLock { $0.streams[stream] = nil } }

    /// Accepts no more, ends the streams, and has each connection close itself after the response that it owes.
    func quiesce() {
        let (listeners, channels, streams) = state.withLock { state in
            state.isEnding = true
            return (Array(state.listeners.values), state.connections.values.map(\.channel), Array(state.streams.values))
        }
        for listener in listeners { listener.close(promise: nil) }
        for stream in streams { stream.finish() }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
    }

    /// Closes what is still open.
    func closeAll() {
        for channel in state.withLock({ $0.connections.values.map(\.channel) }) { channel.close(promise: nil) }
    }
}
