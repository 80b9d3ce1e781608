package import Kerberos

package import struct Foundation.Date

/// The rules for stored offsets of a KDC's clock.
enum ClockSkew {
    /// The clock skew that Kerberos tolerates by default, in seconds (`clockskew` in krb5.conf).
    static let tolerated: Double = 300

    /// Whether a server may refuse tokens because a stored offset is out of date. A smaller one cannot be distinguished from 0, because the
    /// KDC accepts both.
    static func isSuspect(_ offset: Double) -> Bool { abs(offset) > tolerated }

    /// The offset to use with a ticket-granting ticket: the stored one, or 0 if the ticket has expired by the stored one and is valid by
    /// this machine's clock. In that case this machine's clock was wrong when the ticket was acquired, and has been corrected since.
    static func offset(_ stored: Double, of ticket: Credential?, at now: Date) -> Double {
        guard isSuspect(stored), let times = ticket?.times, times.expires <= now.addingTimeInterval(stored) else { return stored }
        let hasStarted = times.starts <= now.addingTimeInterval(tolerated)
        return hasStarted && times.expires > now ? 0 : stored
    }
}

extension CredentialCacheContents {
    /// The offset of the KDC's clock at a time of this machine's clock: the stored one, unless it is evidently out of date.
    package func clockOffset(at date: Date) -> Double { ClockSkew.offset(clockOffset, of: ticketGrantingTicket, at: date) }

    /// The KDC's time, which the tickets' times refer to, at a time of this machine's clock.
    package func time(at date: Date) -> Date { date.addingTimeInterval(clockOffset(at: date)) }
}

extension CredentialCacheListing {
    /// The offset of the KDC's clock at a time of this machine's clock: the stored one, unless it is evidently out of date.
    func clockOffset(at date: Date) -> Double { ClockSkew.offset(clockOffset, of: ticketGrantingTicket, at: date) }

    /// The KDC's time, which the tickets' times refer to, at a time of this machine's clock.
    func time(at date: Date) -> Date { date.addingTimeInterval(clockOffset(at: date)) }
}
