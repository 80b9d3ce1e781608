internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

extension KerberosExtension {
    /// Replaces a ticket-granting ticket that a KDC cannot decrypt with one from the session's keytab, and returns the new session.
    ///
    /// Drops service tickets and cross-realm tickets, because those may be the refused ones. Returns nil if there is no keytab, and if the
    /// ticket is less than five minutes old: if the two sides of a trust have different keys, every new ticket is refused too, and each
    /// process would request one for every request. Therefore, if a KDC is rebuilt less than five minutes after the sign-in, tickets for it
    /// fail until those minutes have passed.
    ///
    /// - Throws: `KerberosError` if no ticket can be acquired.
    func replacement(ofRefused session: Session) async throws(KerberosError) -> Session? {
        guard let source = session.keytabSource else { return nil }
        let present = try await current(session)
        guard present?.ticketFingerprint == session.ticketFingerprint else { return present }
        let age = session.time(at: options.clock()).timeIntervalSince(session.ticketTimes.starts)
        guard age >= KeytabBackoff.longPause, refusedTickets.mayBeReplaced(in: session.cache) else { return nil }
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
            // In these cases no KDC was asked.
            if error.code != .canceled, error.code != .kdcUnreachable { refusedTickets.wasReplaced(in: session.cache) }
            throw error
        }
    }

    /// The session as it is now; nil if it has ended, or if the cache belongs to another principal now.
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

/// Limits the replacement of ticket-granting tickets that KDCs refuse to one in five minutes per cache, so that the KDC of another realm
/// cannot cause a request to this realm's KDC each time. The ticket's age alone is not enough: an attempt may have failed, and the clock
/// may be wrong.
final class TicketReplacements: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[CredentialCacheName: Date]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Whether no replacement for this cache was attempted during the pause.
    func mayBeReplaced(in cache: CredentialCacheName) -> Bool {
        let now = clock()
        return pauses.withLock { ($0[cache] ?? now) <= now }
    }

    /// Begins the pause, whether or not the attempt succeeded.
    func wasReplaced(in cache: CredentialCacheName) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value > now }
            pauses[cache] = now.addingTimeInterval(KeytabBackoff.longPause)
        }
    }
}
