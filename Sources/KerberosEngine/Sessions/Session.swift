public import Foundation
internal import HTTPNegotiate
public import Kerberos

/// A principal with a ticket-granting ticket in a credential cache.
public struct Session: Sendable {
    /// Who it is.
    public let principal: Principal
    /// Where the tickets are.
    public let cache: CredentialCacheName
    /// Who acquired the ticket-granting ticket.
    public let acquiredBy: Acquisition
    /// Whether this principal answers for its realm where nothing else is said: the one signed in, or switched to, last.
    public internal(set) var isDefault = false
    /// Whether the ticket-granting ticket held when the cache was read.
    public let isSignedIn: Bool
    /// Until when the ticket-granting ticket holds, by the KDC's clock: ``clockOffset`` seconds earlier by this machine's.
    public let ticketExpires: Date
    /// Until when it can be renewed, by the KDC's clock; nil when it can't.
    public let renewUntil: Date?
    /// The service tickets that hold now.
    public let services: [Service]
    /// By how many seconds the KDC's clock was ahead of this machine's when the tickets came; 0 where the cache does not say.
    ///
    /// The tickets' times are by the KDC's clock: `ticketExpires.addingTimeInterval(-clockOffset)` is the end by this machine's.
    public let clockOffset: Double
    /// When the password expires, as the KDC said at the sign-in, or as the profile does; nil where nobody knows, and where it never does.
    public internal(set) var passwordExpires: Date?
    /// When the password was changed with this project, by whichever program; nil where that is not known.
    public let passwordChanged: Date?
    /// The name that was asked for at the sign-in, where the KDC has canonicalized it to ``principal``; nil where it has not.
    public let alias: Principal?
    let chosenAt: Date
    let ticketGrantingTicket: Credential
    let listing: CredentialCacheListing

    /// The realm of the principal.
    public var realm: String { principal.realm }

    /// A service ticket of the session.
    public struct Service: Sendable, Hashable {
        /// The service.
        public let principal: Principal
        /// Until when its ticket holds, by the KDC's clock; see ``Session/clockOffset``.
        public let expires: Date
    }

    /// Who acquired a ticket.
    public enum Acquisition: Sendable, Hashable {
        /// This project, by password or what else was asked for.
        case password
        /// This project, from a keytab.
        case keytab(String)
        /// This project, by a certificate or smart card, as libkrb5 names it (`Kerberos/InitialCredentialSource/certificate(_:_:)`); empty
        /// is the one that the profile or krb5.conf names.
        case certificate(String)
        /// This project, by a password that is kept (``SecretStore``) and gets the ticket again.
        case storedSecret
        /// Another program: kinit, sssd, a login through PAM. Never destroyed unless everything shall go.
        case other
    }
}

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

extension Session {
    /// With what a session's ticket can be acquired again where nobody is asked.
    package enum Reacquisition: Sendable, Hashable {
        /// Nothing is at hand.
        case none
        /// A keytab, or a password that is kept: a secret that signs in by itself.
        case key
        /// A certificate. Whether it wants a PIN, or a card that is not there, shows when it is used.
        case certificate
    }

    /// The setting in a cache that says how this project acquired its ticket.
    package static let acquisitionSetting = SessionMark.acquiredBy

    /// Whether the setting's value says that a keytab or a stored password gets the ticket again.
    package static func isAcquiredAgain(setting value: String) -> Bool { ["keytab", SessionMark.storedSecret].contains(value) }

    /// With what its ticket can be acquired again where nobody is asked.
    package var reacquisition: Reacquisition {
        switch acquiredBy {
        case .keytab, .storedSecret: .key
        case .certificate: .certificate
        default: .none
        }
    }
}

extension Session {
    /// What an operation that leaves this session behind tells.
    var reply: AuthorizationReply {
        AuthorizationReply(
            userPrincipalName: principal.description,
            realm: realm,
            ticketExpires: ticketExpires.addingTimeInterval(-clockOffset),
            renewUntil: renewUntil?.addingTimeInterval(-clockOffset),
            passwordExpires: passwordExpires,
            cache: cache.rawValue
        )
    }
}

/// The sessions of a user, and what stood in the way of reading others.
public struct SessionList: Sendable {
    /// The sessions, in the caches' order, the primary cache's first.
    public let sessions: [Session]
    /// Caches that are there and can't be read, each with the reason.
    public let damagedCaches: [KerberosError]
    /// Caches with tickets that hold, whoever acquired them, those without a ticket-granting ticket included.
    let occupiedCaches: [CredentialCacheName]

    /// The session of the primary cache, or of the one cache that there is: libkrb5's default credential. Nil where that is no session.
    package var primary: Session? { sessions.first.flatMap { $0.cache == primaryCache ? $0 : nil } }
    let primaryCache: CredentialCacheName?

    /// The sessions of a principal: by its own name, else by the one that was asked for at a sign-in.
    public func sessions(of name: Principal) -> [Session] {
        let own = sessions.filter { $0.principal == name }
        return own.isEmpty ? sessions.filter { $0.alias == name } : own
    }

    /// The session that answers for a realm: that of the named principal, else the one signed in or switched to last.
    public func session(realm: String, principal: Principal? = nil) -> Session? {
        if let principal { return sessions(of: principal).first }
        return sessions.first { $0.realm == realm && $0.isDefault }
    }
}
