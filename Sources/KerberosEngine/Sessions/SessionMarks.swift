package import Foundation
internal import HTTPNegotiate
package import Kerberos

/// The marks that this project leaves in a cache. A program that fills the cache anew, such as kinit, removes them with the rest.
enum SessionMark {
    static let acquiredBy = "ksso_acquired_by"
    static let keytab = "ksso_keytab"
    static let certificate = "ksso_certificate"
    /// The name that was asked for, where the KDC knows the principal by another.
    static let alias = "ksso_alias"
    static let chosenAt = "ksso_chosen_at"
    static let passwordExpires = "ksso_password_expires"
    static let passwordChanged = "ksso_password_changed"
    /// What `acquiredBy` says of a session whose password is kept.
    static let storedSecret = "storedSecret"

    /// The name that was asked for, where the KDC has canonicalized it.
    static func requestedName(_ name: Principal, of answer: SignInTicket) -> [String: String] {
        answer.credential.client == name ? [:] : [alias: name.description]
    }

    static func all(for source: InitialCredentialSource, at date: Date) -> [String: String] {
        var marks = [chosenAt: text(date), acquiredBy: "password"]
        switch source {
        case .password, .prompter: break
        case .certificate(let identity, _):
            marks.merge([acquiredBy: "certificate", certificate: identity.map(CertificateIdentity.absolute) ?? ""]) { $1 }
        case .keytab(let name): marks.merge([acquiredBy: "keytab", keytab: absolute(name)]) { $1 }
        case .clientKeytab: marks.merge([acquiredBy: "keytab", keytab: ""]) { $1 }
        }
        return marks
    }

    /// A later command may run in another folder.
    private static func absolute(_ keytab: String) -> String {
        let type = keytab.prefix { $0 != ":" && $0 != "/" }
        let hasType = keytab.dropFirst(type.count).first == ":"
        guard !hasType || type == "FILE" else { return keytab }
        let path = hasType ? String(keytab.dropFirst(type.count + 1)) : keytab
        return (hasType ? "FILE:" : "") + URL(filePath: path).path
    }

    static func text(_ date: Date) -> String { String(date.timeIntervalSince1970) }

    /// The date that a mark holds; an empty one holds none.
    static func date(_ key: String, in marks: [String: String]) -> Date? {
        marks[key].flatMap(Double.init).map(Date.init(timeIntervalSince1970:))
    }
}

extension Session {
    /// The session that a cache holds; nil when it holds no ticket-granting ticket.
    init?(_ listing: CredentialCacheListing, now: Date) {
        guard let ticket = listing.ticketGrantingTicket else { return nil }
        let now = listing.time(at: now)
        clockOffset = listing.clockOffset
        principal = listing.principal
        cache = listing.name
        acquiredBy =
            switch listing.marks[SessionMark.acquiredBy] {
            case "password": .password
            case SessionMark.storedSecret: .storedSecret
            case "keytab": .keytab(listing.marks[SessionMark.keytab] ?? "")
            case "certificate": .certificate(listing.marks[SessionMark.certificate] ?? "")
            default: .other
            }
        isSignedIn = ticket.isValid(at: now)
        ticketExpires = ticket.times.expires
        renewUntil = ticket.times.renewUntil
        services = Self.services(listing, now: now)
        chosenAt = SessionMark.date(SessionMark.chosenAt, in: listing.marks) ?? ticket.times.authenticated
        alias = listing.marks[SessionMark.alias].flatMap { try? Principal($0) }
        passwordExpires = SessionMark.date(SessionMark.passwordExpires, in: listing.marks)
        passwordChanged = SessionMark.date(SessionMark.passwordChanged, in: listing.marks)
        ticketGrantingTicket = ticket
        self.listing = listing
    }

    private static func services(_ listing: CredentialCacheListing, now: Date) -> [Service] {
        let tickets = listing.tickets.filter { $0.isOwn && !$0.server.isTicketGrantingService && $0.expires > now }
        var latest: [Principal: Service] = [:]
        for ticket in tickets { latest[ticket.server] = Service(principal: ticket.server, expires: ticket.expires) }
        return latest.values.sorted { $0.principal.description < $1.principal.description }
    }

    /// The source from which the ticket can be acquired again without asking.
    var keytabSource: InitialCredentialSource? {
        guard case .keytab(let name) = acquiredBy else { return nil }
        return name.isEmpty ? .clientKeytab : .keytab(name)
    }

    /// The certificate that signed in, empty for the configured one; nil where something else did.
    var certificateSource: String? {
        guard case .certificate(let identity) = acquiredBy else { return nil }
        return identity
    }

    /// What the KDC's clock shows when this machine's shows a date.
    func time(at date: Date) -> Date { listing.time(at: date) }

    /// Whether two thirds of the ticket-granting ticket's life are over, or as much as the profiles say, at a date of this machine's clock.
    func isDue(at date: Date, _ policy: DecisionPolicy) -> Bool {
        ticketGrantingTicket.times.isDue(at: time(at: date), in: realm, policy)
    }

    /// Whether there is time left to use the ticket-granting ticket, at a date of this machine's clock.
    func isUsable(at date: Date) -> Bool { ticketGrantingTicket.times.isUsable(at: time(at: date)) }
}

extension CredentialCacheContents {
    /// Whether this project acquired what is there, and no other program.
    package var isOwn: Bool { marks[SessionMark.acquiredBy] != nil }

    /// What the KDC's clock, by which the tickets' times are, shows when this machine's shows a date.
    package func time(at date: Date) -> Date { date.addingTimeInterval(clockOffset) }
}

extension CredentialCacheListing {
    /// What the KDC's clock, by which the tickets' times are, shows when this machine's shows a date.
    func time(at date: Date) -> Date { date.addingTimeInterval(clockOffset) }
}
