internal import Foundation
package import Kerberos

/// The marks that this project writes to a cache. A program that overwrites the cache, such as kinit, removes them.
enum SessionMark {
    /// The name of the kind of credential; see ``CredentialKind/name``.
    static let acquiredBy = "ksso_acquired_by"
    /// The requested name, if the KDC canonicalized it.
    static let alias = "ksso_alias"
    /// When the principal signed in or was selected.
    static let chosenAt = "ksso_chosen_at"
    /// When the password expires; empty if that is unknown after a change.
    static let passwordExpires = "ksso_password_expires"
    /// What the directory of the domain said about the account; see ``AccountStatus/text``.
    static let account = "ksso_account"
    /// When a program of this project last changed the password.
    static let passwordChanged = "ksso_password_changed"

    /// The mark with the requested name; none if the KDC did not canonicalize it.
    static func requestedName(_ name: Principal, of answer: SignInTicket) -> [String: String] {
        answer.credential.client == name ? [:] : [alias: name.description]
    }

    /// The marks of a session that signs in with a kind of credential.
    static func all(for kind: any CredentialKind, at date: Date) -> [String: String] {
        [chosenAt: text(date), acquiredBy: type(of: kind).name].merging(kind.marks) { $1 }
    }

    /// The value of a mark with a date.
    static func text(_ date: Date) -> String { String(date.timeIntervalSince1970) }

    /// The date in a mark; nil if the mark is missing or empty.
    static func date(_ key: String, in marks: [String: String]) -> Date? {
        marks[key].flatMap(Double.init).map(Date.init(timeIntervalSince1970:))
    }
}

extension Session {
    /// Creates the session of a cache; nil if the cache has no ticket-granting ticket.
    init?(_ listing: CredentialCacheListing, now: Date) {
        guard let ticket = listing.ticketGrantingTicket else { return nil }
        let offset = listing.clockOffset(at: now)
        func local(_ date: Date) -> Date { date.addingTimeInterval(-offset) }
        clockOffset = offset
        principal = listing.principal
        cache = listing.name
        acquiredBy = Acquisition(marks: listing.marks)
        ticketExpires = local(ticket.times.expires)
        isSignedIn = ticketExpires > now
        renewUntil = ticket.times.renewUntil.map(local)
        services = Self.services(listing, offset: offset, now: now)
        chosenAt = SessionMark.date(SessionMark.chosenAt, in: listing.marks) ?? local(ticket.times.authenticated)
        alias = listing.marks[SessionMark.alias].flatMap { try? Principal($0) }
        passwordExpires = SessionMark.date(SessionMark.passwordExpires, in: listing.marks).map(local)
        ownPasswordChange = SessionMark.date(SessionMark.passwordChanged, in: listing.marks)
        passwordChanged = ownPasswordChange
        account = listing.marks[SessionMark.account].flatMap(AccountStatus.init(text:))
        ticketGrantingTicket = ticket
        self.listing = listing
    }

    private static func services(_ listing: CredentialCacheListing, offset: Double, now: Date) -> [Service] {
        var latest: [Principal: Service] = [:]
        for ticket in listing.tickets where ticket.isOwn && !ticket.server.isTicketGrantingService {
            let expires = ticket.expires.addingTimeInterval(-offset)
            if expires > now { latest[ticket.server] = Service(principal: ticket.server, expires: expires) }
        }
        return latest.values.sorted { $0.principal.description < $1.principal.description }
    }

    /// The KDC's time at a time of this machine's clock.
    func time(at date: Date) -> Date { date.addingTimeInterval(clockOffset) }
}

extension CredentialCacheContents {
    /// Whether this project, and not another program, acquired the tickets.
    package var isOwn: Bool { marks[SessionMark.acquiredBy] != nil }
}
