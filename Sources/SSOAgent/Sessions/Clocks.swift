package import struct Foundation.Date

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

/// A moment by both of the machine's clocks: the one that people set, and the one that only runs.
package struct Moment: Sendable, Hashable {
    /// What the wall clock shows.
    package var wall: Date
    /// Seconds since some fixed moment, the time that the machine slept included. It never jumps.
    package var uptime: Double

    package init(wall: Date, uptime: Double) {
        self.wall = wall
        self.uptime = uptime
    }
}

/// A date that is over when either clock says so: a wall clock that is put back must not put it off.
struct Deadline: Hashable {
    let wall: Date
    let uptime: Double

    /// - Parameters:
    ///   - wall: The date, by the wall clock.
    ///   - moment: When the date became known; the other clock counts from there.
    init(_ wall: Date, knownSince moment: Moment) {
        self.wall = wall
        uptime = moment.uptime + wall.timeIntervalSince(moment.wall)
    }

    func isOver(at now: Moment) -> Bool { remaining(at: now) <= 0 }

    /// In seconds; negative when it is over.
    func remaining(at now: Moment) -> Double { min(wall.timeIntervalSince(now.wall), uptime - now.uptime) }
}
