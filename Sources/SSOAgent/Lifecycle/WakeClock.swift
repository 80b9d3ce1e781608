internal import struct Foundation.Date

/// What time it is, and a wait that can be called off.
package protocol WakeClock: Sendable {
    /// Both clocks' time.
    var now: Moment { get }

    /// Returns when the clock that only runs shows a time; throws when the task is canceled.
    func sleep(until uptime: Double) async throws
}

/// The machine's clocks.
package struct SystemClock: WakeClock {
    private let start = ContinuousClock.now

    package init() {}

    package var now: Moment {
        let passed = (ContinuousClock.now - start).components
        return Moment(wall: Date(), uptime: Double(passed.seconds) + Double(passed.attoseconds) / 1e18)
    }

    package func sleep(until uptime: Double) async throws {
        // On Linux this clock counts the time that the machine sleeps.
        try await Task.sleep(until: start + .seconds(uptime), clock: .continuous)
    }
}
