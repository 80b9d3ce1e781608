internal import Kerberos

internal import struct Foundation.Date

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
