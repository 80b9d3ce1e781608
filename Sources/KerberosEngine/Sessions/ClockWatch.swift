internal import Kerberos
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

extension KerberosExtension {
    /// Corrects what was learned of the KDCs' clocks, if the machine's own clock was set since: tokens would carry a time by which they are
    /// not valid yet, or no longer. No network; the tickets concerned are also reacquired, which nothing waits for.
    func followClock() async {
        guard clockWatch.step != nil else { return }
        _ = try? await clockFlights.run(0) { [self] () async throws(KerberosError) in
            guard let step = clockWatch.step else { return true }
            clients.removeAll()
            initiators.removeAll()
            if let keytabSession {
                await keytabSession.follow(step)
            } else {
                for session in (try? await sessionStore.read().sessions) ?? [] { await follow(step, session) }
            }
            initiators.removeAll()
            clockWatch.settle(step)
            return true
        }
    }

    private func follow(_ step: ClockWatch.Step, _ session: Session) async {
        let offset = step.offset(after: session.clockOffset)
        guard offset != session.clockOffset else { return }
        try? await clients.local.setClockOffset(of: session.cache, to: offset)
        guard session.reacquisition == .key || session.isRenewable, let present = try? await self.session(in: session.cache) else { return }
        refreshFlights.start(RefreshFlight(present, mayAsk: false)) { [self] () async throws(KerberosError) in
            try await reacquire(present, prompter: nil)
        }
    }

    /// Repeats a call that failed because of the clock without the offset that the session's cache holds: the machine's clock may have been
    /// set after the tickets were acquired, while no process of ours was running. If the call fails again, the offset is restored.
    ///
    /// - Throws: `failure` if the offset is not what made the call fail.
    func withoutClockOffset<Value: Sendable>(
        of session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        // A service's own session began in this process, which follows its clock.
        guard failure.code == .clockSkew, session.clockOffset != 0, keytabSession == nil else { throw failure }
        do throws(KerberosError) {
            return try await call(try await setClockOffset(of: session, to: 0))
        } catch {
            _ = try? await setClockOffset(of: session, to: session.clockOffset)
            throw failure
        }
    }

    private func setClockOffset(of session: Session, to offset: Double) async throws(KerberosError) -> Session {
        try await clients.local.setClockOffset(of: session.cache, to: offset)
        clients.removeAll()
        initiators.removeAll()
        return try await self.session(in: session.cache)
    }
}

extension KerberosClient {
    /// Writes a cache with another offset of the KDC's clock; its tickets stay.
    func setClockOffset(of cache: CredentialCacheName, to offset: Double) async throws(KerberosError) {
        let contents = try await contents(of: cache)
        try await replace(
            cache,
            principal: contents.principal,
            credentials: contents.credentials + contents.notes,
            marks: contents.marks,
            clockOffset: offset
        )
    }
}
