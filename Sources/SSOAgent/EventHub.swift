package import SSOAgentClient
internal import Synchronization

/// Hands each event to whoever listens.
package final class EventHub: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<AgentEvent>.Continuation] = [:]
        var next = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// A listener that does not read keeps this many events; the oldest go first.
    private static let backlog = 64

    package init() {}

    /// The events from now on, until the hub is closed or the stream is dropped.
    package func events() -> AsyncStream<AgentEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: AgentEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
        return stream
    }

    /// Tells all who listen.
    package func send(_ event: AgentEvent) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
    }

    /// Ends every stream, and those that are asked for later at once.
    package func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }

    /// How many listen.
    package var listenerCount: Int { state.withLock { $0.listeners.count } }
}
