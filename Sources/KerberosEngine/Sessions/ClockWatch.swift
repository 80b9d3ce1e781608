internal import Kerberos
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
            return abs(seconds) < Self.tolerated ? former : 0
        }

        /// The clock skew that Kerberos tolerates by default, in seconds.
        private static let tolerated: Double = 300
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

extension KerberosExtension {
    /// Corrects the stored offsets of the KDCs' clocks if the machine's clock was set in the meantime. Otherwise tokens would carry a time
    /// at which they are not yet valid or no longer valid. Uses no network itself; the affected tickets are reacquired in the background.
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

    /// Repeats a call that failed because of clock skew, without the clock offset in the session's cache: the machine's clock may have been
    /// set after the tickets were acquired, while no process of this project was running. If the call fails again, the offset is restored.
    ///
    /// - Throws: `failure` if the offset is not the reason that the call failed.
    func withoutClockOffset<Value: Sendable>(
        of session: Session,
        after failure: KerberosError,
        _ call: (Session) async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        // A service's own session began in this process, which follows changes of its clock.
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
    /// Rewrites a cache with another offset of the KDC's clock. Its tickets are kept.
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
