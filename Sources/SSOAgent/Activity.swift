internal import Synchronization

/// When somebody last needed the agent.
final class Activity: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// Somebody does now.
    func note() { last.withLock { $0 = .now } }

    /// For how long nobody has.
    var idleTime: Duration { last.withLock { .now - $0 } }
}
