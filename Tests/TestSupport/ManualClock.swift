public import Foundation
internal import Synchronization

/// A clock with the machine's time that a test can advance. Safe to use from any task.
public final class ManualClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)
    private let start = ContinuousClock.now
    private let startDate = Date()

    /// Creates a clock with the machine's time.
    public init() {}

    /// The current time of the clock.
    public var now: Date { Date(timeIntervalSinceNow: offset.withLock { $0 }) }

    /// A time that changes only when a test advances the clock.
    public var stoppedNow: Date { startDate.addingTimeInterval(offset.withLock { $0 }) }

    /// An instant that changes only when a test advances the clock.
    public var instant: ContinuousClock.Instant { start + .seconds(offset.withLock { $0 }) }

    /// Advances the clock.
    public func advance(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}
