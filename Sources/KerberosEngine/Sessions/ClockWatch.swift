internal import Synchronization

internal import struct Foundation.Date

/// Detects changes of the machine's clock, such as by NTP after a start with a wrong clock: its difference from the monotonic clock has
/// changed.
final class ClockWatch: Sendable {
    /// A change of the machine's clock.
    struct Step: Sendable {
        /// How many seconds the clock was moved forward.
        let seconds: Double
        fileprivate let origin: Double

        /// The remaining offset of a KDC's clock that was learned before the change.
        ///
        /// A clock that was corrected was wrong by that offset. If the clock agreed with the KDC's and the step is large, the machine was
        /// suspended, so the KDC's clock has advanced as well.
        func offset(after former: Double) -> Double {
            let adjusted = former - seconds
            if abs(adjusted) < abs(former) { return adjusted.rounded() }
            return abs(seconds) < ClockSkew.tolerated ? former : 0
        }
    }

    /// The smallest change that counts, in seconds. Clocks are also adjusted in small steps, and slowed and sped up.
    static let tolerance: Double = 10

    private let wall: @Sendable () -> Date
    private let uptime: (@Sendable () -> Double)?
    /// What the wall clock showed at the zero of the monotonic clock.
    private let origin: Mutex<Double>

    init(wall: @escaping @Sendable () -> Date, uptime: (@Sendable () -> Double)?) {
        self.wall = wall
        self.uptime = uptime
        origin = Mutex(Self.origin(wall, uptime) ?? 0)
    }

    /// The change since the last call of ``settle(_:)``; nil if there is none.
    var step: Step? {
        guard let now = Self.origin(wall, uptime) else { return nil }
        let seconds = now - origin.withLock { $0 }
        return abs(seconds) > Self.tolerance ? Step(seconds: seconds, origin: now) : nil
    }

    /// Records that a change has been handled.
    func settle(_ step: Step) { origin.withLock { $0 = step.origin } }

    private static func origin(_ wall: () -> Date, _ uptime: (() -> Double)?) -> Double? {
        uptime.map { wall().timeIntervalSince1970 - $0() }
    }

    /// The machine's monotonic clock. On Linux, Swift's continuous clock also counts while the machine is suspended.
    static let machineUptime: @Sendable () -> Double = {
        let start = ContinuousClock.now
        return {
            let passed = (ContinuousClock.now - start).components
            return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
        }
    }()
}
