internal import Synchronization

internal import struct Foundation.Date

/// Detects that the machine's clock was set, as by NTP after a start with a wrong clock: its difference from the monotonic clock has
/// changed.
final class ClockWatch: Sendable {
    /// A change of the machine's clock.
    struct Step: Sendable {
        /// By how many seconds it was put forward.
        let seconds: Double
        fileprivate let origin: Double

        /// What is left of the offset of a KDC's clock that was learned before the change.
        ///
        /// A clock that was corrected was wrong by that offset. If the clock agreed with the KDC's and the step is large, the machine was
        /// suspended, so the KDC's clock has advanced as well.
        func offset(after former: Double) -> Double {
            let adjusted = former - seconds
            if abs(adjusted) < abs(former) { return adjusted.rounded() }
            return abs(seconds) < Self.tolerated ? former : 0
        }

        /// What Kerberos lets clocks differ by, in seconds.
        private static let tolerated: Double = 300
    }

    /// In seconds. A clock is also set by little steps, and slowed and sped up.
    static let tolerance: Double = 10

    private let wall: @Sendable () -> Date
    private let uptime: (@Sendable () -> Double)?
    /// What the wall clock showed when the other one began.
    private let origin: Mutex<Double>

    init(wall: @escaping @Sendable () -> Date, uptime: (@Sendable () -> Double)?) {
        self.wall = wall
        self.uptime = uptime
        origin = Mutex(Self.origin(wall, uptime) ?? 0)
    }

    /// The change that nothing has been done about yet.
    var step: Step? {
        guard let now = Self.origin(wall, uptime) else { return nil }
        let seconds = now - origin.withLock { $0 }
        return abs(seconds) > Self.tolerance ? Step(seconds: seconds, origin: now) : nil
    }

    /// All that was to be done about a change was done.
    func settle(_ step: Step) { origin.withLock { $0 = step.origin } }

    private static func origin(_ wall: () -> Date, _ uptime: (() -> Double)?) -> Double? {
        uptime.map { wall().timeIntervalSince1970 - $0() }
    }

    /// The machine's own. On Linux Swift's continuous clock counts the time that the machine sleeps.
    static let machineUptime: @Sendable () -> Double = {
        let start = ContinuousClock.now
        return {
            let passed = (ContinuousClock.now - start).components
            return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
        }
    }()
}
