package import Kerberos

package import struct Foundation.Date

extension Session {
    /// When the ticket-granting ticket holds.
    package var ticketTimes: TicketTimes { ticketGrantingTicket.times }

    /// A number that tells the ticket-granting ticket from another one with the same times.
    package var ticketFingerprint: Int { ticketGrantingTicket.fingerprint }

    /// Whether the KDC may give out another ticket for the one that is there.
    package var isRenewable: Bool { ticketGrantingTicket.isRenewable }

    /// When this principal signed in, by this machine's clock: a ticket that a keytab got again does not count as another sign-in.
    package var signedInAt: Date { min(chosenAt, ticketGrantingTicket.times.authenticated.addingTimeInterval(-clockOffset)) }

    /// Whether the ticket-granting ticket holds at a date of this machine's clock.
    package func holds(at date: Date) -> Bool { ticketExpires.addingTimeInterval(-clockOffset) > date }
}
