internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

extension KerberosExtension {
    /// The session with another ticket-granting ticket in place of one that a KDC can't read, got from its keytab; service tickets and
    /// those of trusts are dropped, since they may be the refused ones. Nil where there is no keytab, and for a ticket of less than five
    /// minutes: where the keys of a trust differ, each new one is refused too, and each process would get one with every request. So a KDC
    /// that is set up anew within five minutes of the sign-in is served only after them.
    ///
    /// - Throws: `KerberosError` when none can be had.
    func replacement(ofRefused session: Session) async throws(KerberosError) -> Session? {
        guard let source = session.keytabSource else { return nil }
        let present = try await current(session)
        guard present?.ticketFingerprint == session.ticketFingerprint else { return present }
        let age = session.time(at: options.clock()).timeIntervalSince(session.ticketTimes.starts)
        guard age >= KeyRefusals.longPause, refusedTickets.mayBeReplaced(in: session.cache) else { return nil }
        do throws(KerberosError) {
            let other: Session
            if let keytabSession {
                other = try await keytabSession.acquireOnce(insteadOf: session)
            } else {
                let flight = RefreshFlight(session, mayAsk: false, keepsTickets: false)
                other = try await refreshFlights.run(flight) { [self] () async throws(KerberosError) in
                    try await acquireAgain(session, using: source, keepsTickets: false)
                }
            }
            refusedTickets.wasReplaced(in: session.cache)
            return other
        } catch {
            // No KDC was asked.
            if error.code != .canceled, error.code != .kdcUnreachable { refusedTickets.wasReplaced(in: session.cache) }
            throw error
        }
    }

    /// The session as it is now; nil when it has ended, or another principal's is there.
    private func current(_ session: Session) async throws(KerberosError) -> Session? {
        if let keytabSession { return await keytabSession.existing().first }
        do throws(KerberosError) {
            let present = try await self.session(in: session.cache)
            return present.principal == session.principal ? present : nil
        } catch  where error.code == .noCredentials {
            return nil
        }
    }
}

/// Keeps ticket-granting tickets that KDCs refuse from being replaced with every request: what another realm's KDC says costs this realm's
/// no more than one ticket in five minutes. A ticket's age alone does not tell where an attempt failed, or by a clock that is off.
final class RefusedTickets: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[CredentialCacheName: Date]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Whether none was got for this cache within the pause.
    func mayBeReplaced(in cache: CredentialCacheName) -> Bool {
        let now = clock()
        return pauses.withLock { ($0[cache] ?? now) <= now }
    }

    /// Begins the pause, whatever came of the attempt.
    func wasReplaced(in cache: CredentialCacheName) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value > now }
            pauses[cache] = now.addingTimeInterval(KeyRefusals.longPause)
        }
    }
}
