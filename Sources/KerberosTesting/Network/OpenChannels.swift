import NIOCore
import Synchronization

/// A set of open channels that are closed together.
final class OpenChannels: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Tracks a channel until it is closed. After ``end()`` or ``close()`` it is closed at once.
    func add(_ channel: any Channel) {
        let key = ObjectIdentifier(channel)
        let hasEnded = state.withLock { state in
            if !state.hasEnded { state.channels[key] = channel }
            return state.hasEnded
        }
        guard !hasEnded else { return channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.channels[key] = nil } }
    }

    /// Closes all channels, and those that are added later.
    func end() {
        for channel in takeAll() { channel.close(promise: nil) }
    }

    /// Closes all channels, and those that are added later, and waits until they are closed.
    func close() async {
        let channels = takeAll()
        for channel in channels { channel.close(promise: nil) }
        for channel in channels { try? await channel.closeFuture.get() }
    }

    private func takeAll() -> [any Channel] {
        state.withLock { state in
            state.hasEnded = true
            return Array(state.channels.values)
        }
    }
}
