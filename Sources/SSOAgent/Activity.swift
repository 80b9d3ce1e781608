internal import Synchronization

/// When somebody last needed the agent.
final class Activity: Sendable {
    private let last = Mutex(ContinuousClock.now)

    /// Somebody does now.
    ///
    /// - Returns: Whether nobody did for some seconds: what follows from it need not follow each time.
    @discardableResult
    func note() -> Bool {
        last.withLock { last in
            let now = ContinuousClock.now
            guard now - last > .seconds(5) else { return false }
            last = now
            return true
        }
    }

    /// For how long nobody has.
    var idleTime: Duration { last.withLock { .now - $0 } }
}
