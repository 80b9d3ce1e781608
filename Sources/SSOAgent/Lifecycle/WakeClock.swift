internal import struct Foundation.Date

/// What time it is, and a wait that can be called off.
package protocol WakeClock: Sendable {
    /// Both clocks' time.
    var now: Moment { get }
    /// Seconds since some fixed moment, without the time that the machine slept: measures how long something takes.
    var awake: Double { get }

    /// Returns when the clock that only runs shows a time; throws when the task is canceled.
    func sleep(until uptime: Double) async throws
}

/// The machine's clocks.
package struct SystemClock: WakeClock {
    private let start = ContinuousClock.now
    private let awakeStart = SuspendingClock.now

    package init() {}

    package var now: Moment { Moment(wall: Date(), uptime: Self.seconds(ContinuousClock.now - start)) }

    package var awake: Double { Self.seconds(SuspendingClock.now - awakeStart) }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    package func sleep(until uptime: Double) async throws {
        // On Linux this clock counts the time that the machine sleeps.
        try await Task.sleep(until: start + .seconds(uptime), clock: .continuous)
    }
}
