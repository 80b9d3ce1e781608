internal import Kerberos

internal import struct Foundation.Date

/// Limits the replacement of ticket-granting tickets that KDCs refuse to one in five minutes per cache, so that the KDC of another realm
/// cannot cause a request to this realm's KDC each time. The ticket's age alone is not enough: an attempt may have failed, and the clock
/// may be wrong.
final class TicketReplacements: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses: Pauses<CredentialCacheName, Void>

    init(clock: @escaping @Sendable () -> Date) {
        self.clock = clock
        pauses = Pauses(clock: clock)
    }

    /// Replaces a ticket-granting ticket that a KDC cannot decrypt with one from the session's keytab, and returns the new session.
    ///
    /// Returns nil if there is no keytab, and if the ticket is less than five minutes old: if the two sides of a trust have different keys,
    /// every new ticket is refused too, and each process would request one for every request. Therefore, if a KDC is rebuilt less than five
    /// minutes after the sign-in, tickets for it fail until those minutes have passed.
    ///
    /// - Throws: `KerberosError` if no ticket can be acquired.
    func replacement(ofRefused session: Session, in source: any SessionSource) async throws(KerberosError) -> Session? {
        guard let keytab = session.keytab else { return nil }
        let present = try await source.current(session)
        guard present?.ticketFingerprint == session.ticketFingerprint else { return present }
        let age = session.time(at: clock()).timeIntervalSince(session.ticketTimes.starts)
        guard age >= SignInBackoff.longPause, !pauses.isPaused(session.cache) else { return nil }
        do throws(KerberosError) {
            let other = try await source.reacquire(refused: session, from: keytab)
            pauses.begin(session.cache, seconds: SignInBackoff.longPause)
            return other
        } catch {
            // In these cases no KDC was asked.
            if error.code != .canceled, error.code != .kdcUnreachable {
                pauses.begin(session.cache, seconds: SignInBackoff.longPause)
            }
            throw error
        }
    }
}
