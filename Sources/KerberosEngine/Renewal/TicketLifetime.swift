internal import Kerberos
internal import SignOnPolicy

package import struct Foundation.Date

// The rules for the lifetime of a ticket, in the order in which they begin to matter:
//
// - `needsRenewal`: whether the ticket is so old that a request renews or reacquires it in the background. Requests still use it.
// - `isUsable`: whether the ticket is valid long enough for a token, which the server reads later. A request that finds a ticket that is
//   not usable waits for another one.
// - `isValid`: whether the ticket has not expired. Such a ticket is the last resort if no KDC answers, and its user is signed in.
//
// The times of a ticket are those of the KDC's clock; a session converts a time of this machine's clock first.

extension TicketTimes {
    /// Whether two thirds of the ticket's lifetime, or the part that the profiles set, have passed, so that it should be renewed.
    func needsRenewal(at date: Date, in realm: String, _ policy: DecisionPolicy) -> Bool {
        let lifetime = expires.timeIntervalSince(starts)
        return date.timeIntervalSince(starts) >= policy.configurations.renewalTime(in: realm, lifetime: lifetime)
    }

    /// Whether the remaining lifetime is enough to use the ticket: more than a tenth of its lifetime, or 30 seconds if that is less.
    func isUsable(at date: Date) -> Bool {
        let margin = min(30, expires.timeIntervalSince(starts) / 10)
        return expires.timeIntervalSince(date) > margin
    }
}

extension Session {
    /// Whether two thirds of the ticket-granting ticket's lifetime, or the part that the profiles set, have passed at a time of this
    /// machine's clock.
    func needsRenewal(at date: Date, _ policy: DecisionPolicy) -> Bool {
        ticketGrantingTicket.times.needsRenewal(at: time(at: date), in: realm, policy)
    }

    /// Whether the ticket-granting ticket is valid long enough to be used, at a time of this machine's clock.
    func isUsable(at date: Date) -> Bool { ticketGrantingTicket.times.isUsable(at: time(at: date)) }

    /// Whether the ticket-granting ticket is valid at a time of this machine's clock.
    package func isValid(at date: Date) -> Bool { ticketExpires > date }

    /// Whether the ticket-granting ticket is valid now, and for some time from now.
    func isValid(for validity: Duration, from now: Date) -> Bool {
        isSignedIn && isValid(at: now.addingTimeInterval(max(validity, .zero) / .seconds(1)))
    }
}
