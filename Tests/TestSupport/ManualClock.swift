public import Foundation
internal import Synchronization

/// The machine's time, put forward by hand. Safe to use from any task.
public final class ManualClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    /// A clock that is right.
    public init() {}

    /// What it shows.
    public var now: Date { Date(timeIntervalSinceNow: offset.withLock { $0 }) }

    /// Puts it forward.
    public func advance(by seconds: TimeInterval) {
        offset.withLock { $0 += seconds }
    }
}
