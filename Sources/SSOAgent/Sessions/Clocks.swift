package import struct Foundation.Date

/// A source of the current time, with a cancelable sleep.
package protocol WakeClock: Sendable {
    /// The current time by both clocks.
    var now: Moment { get }
    /// Seconds since some fixed moment, without the time that the machine slept: measures how long something takes.
    var awake: Double { get }

    /// Returns when the uptime clock reaches a time; throws when the task is canceled.
    func sleep(until uptime: Double) async throws
}

/// The system's clocks.
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
        // On Linux, this clock includes the time during which the machine is suspended.
        try await Task.sleep(until: start + .seconds(uptime), clock: .continuous)
    }
}

/// A point in time by both of the machine's clocks: the adjustable wall clock and the monotonic uptime clock.
package struct Moment: Sendable, Hashable {
    /// The time by the wall clock.
    package var wall: Date
    /// The seconds since a fixed start, including the time during which the machine was suspended. It never jumps.
    package var uptime: Double

    package init(wall: Date, uptime: Double) {
        self.wall = wall
        self.uptime = uptime
    }
}

/// A date that has passed as soon as either clock says so, because setting the wall clock back must not delay it.
struct Deadline: Hashable {
    let wall: Date
    let uptime: Double

    /// - Parameters:
    ///   - wall: The date by the wall clock.
    ///   - moment: The time at which the date became known, from which the uptime clock counts.
    init(_ wall: Date, knownSince moment: Moment) {
        self.wall = wall
        uptime = moment.uptime + wall.timeIntervalSince(moment.wall)
    }

    func isOver(at now: Moment) -> Bool { remaining(at: now) <= 0 }

    /// The remaining time in seconds; negative if the date has passed.
    func remaining(at now: Moment) -> Double { min(wall.timeIntervalSince(now.wall), uptime - now.uptime) }
}
