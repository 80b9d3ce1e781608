public import Foundation
internal import HTTPNegotiate
public import Kerberos

/// A principal with a ticket-granting ticket in a credential cache.
public struct Session: Sendable {
    /// The principal.
    public let principal: Principal
    /// The cache that holds the tickets.
    public let cache: CredentialCacheName
    /// How the ticket-granting ticket was acquired.
    public let acquiredBy: Acquisition
    /// Whether this session is the default of its realm. Of the realm's sessions with a valid ticket, that is the one in the primary
    /// cache, else the one that signed in or was selected last.
    public internal(set) var isDefault = false
    /// Whether the ticket-granting ticket was valid when the cache was read.
    public let isSignedIn: Bool
    /// When the ticket-granting ticket expires, by this machine's clock, like all dates of a session.
    public let ticketExpires: Date
    /// Until when the ticket can be renewed; nil if it is not renewable.
    public let renewUntil: Date?
    /// The service tickets that were valid when the cache was read.
    public let services: [Service]
    /// How many seconds the KDC's clock was ahead of this machine's when the tickets were acquired; 0 if the cache has no offset, or one
    /// that is evidently out of date. The dates of a session are already converted.
    public let clockOffset: Double
    /// When the password expires, as reported by the KDC at the sign-in, by the domain's directory, or by the profile; nil if that is
    /// unknown, or if it never expires.
    public internal(set) var passwordExpires: Date?
    /// When the password was last changed, by a program of this project or as the domain's directory says; nil if unknown.
    public internal(set) var passwordChanged: Date?
    /// When a program of this project last changed the password; nil if unknown.
    package let ownPasswordChange: Date?
    /// What the directory of the realm's domain said about the account; nil if it was not read since the sign-in. See
    /// `SingleSignOn.readAccount(of:)`.
    public let account: AccountStatus?
    /// Whether the directory did not know yet, when it was read, that a program of this project had changed the password. What
    /// ``account`` says about the password is then not used.
    public internal(set) var isAccountOutdated = false
    /// The requested name, if the KDC canonicalized it to ``principal`` at the sign-in; otherwise nil.
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
        /// When its ticket expires, by this machine's clock.
        public let expires: Date
    }
}

extension Session {
    /// The times of the ticket-granting ticket, by the KDC's clock.
    package var ticketTimes: TicketTimes { ticketGrantingTicket.times }

    /// A number that distinguishes the ticket-granting ticket from others with the same times.
    package var ticketFingerprint: Int { ticketGrantingTicket.fingerprint }

    /// Whether the ticket-granting ticket is renewable.
    package var isRenewable: Bool { ticketGrantingTicket.isRenewable }

    /// Takes over what the directory says about the password, unless it did not know of the last change yet.
    mutating func adoptAccount(replicationTime: Double) {
        guard let account else { return }
        isAccountOutdated = account.precedes(changeAt: ownPasswordChange, replicationTime: replicationTime)
        guard !isAccountOutdated else { return }
        if account.passwordExpires != nil || account.passwordNeverExpires { passwordExpires = account.passwordExpires }
        passwordChanged = account.passwordChanged ?? passwordChanged
    }

    /// When this principal signed in, by this machine's clock. Reacquiring a ticket from a keytab does not count as a sign-in.
    package var signedInAt: Date { min(chosenAt, ticketGrantingTicket.times.authenticated.addingTimeInterval(-clockOffset)) }
}

extension Session {
    /// The reply of an operation that results in this session.
    var reply: AuthorizationReply {
        AuthorizationReply(
            userPrincipalName: principal.description,
            realm: realm,
            ticketExpires: ticketExpires,
            renewUntil: renewUntil,
            passwordExpires: passwordExpires,
            cache: cache.rawValue
        )
    }
}

/// The sessions of a user, and the caches that could not be read.
public struct SessionList: Sendable {
    /// The sessions, in the order of the caches, with the primary cache's first.
    public let sessions: [Session]
    /// The errors of the caches that exist and cannot be read.
    public let damagedCaches: [KerberosError]
    /// The caches with unexpired tickets, whichever program acquired them, including those without a ticket-granting ticket.
    let occupiedCaches: [CredentialCacheName]
    /// The names of all caches that exist.
    let caches: [CredentialCacheName]

    /// The session of the primary cache, or of the only cache, which is libkrb5's default credential; nil if that cache has no session.
    package var primary: Session? { sessions.first.flatMap { $0.cache == primaryCache ? $0 : nil } }
    let primaryCache: CredentialCacheName?
    /// How many times this process had signed in or out, or switched, when the caches were read; nil if these are not the shared caches.
    var generation: Int?

    /// The sessions of a principal. If there are none, those whose sign-in requested this name (``Session/alias``).
    public func sessions(of name: Principal) -> [Session] {
        let own = sessions.filter { $0.principal == name }
        return own.isEmpty ? sessions.filter { $0.alias == name } : own
    }

    /// The session that answers for a principal: the first of ``sessions(of:)``.
    public func session(of principal: Principal) -> Session? { sessions(of: principal).first }

    /// The session that answers for a realm if no principal is named: the realm's default one.
    public func defaultSession(realm: String) -> Session? { sessions.first { $0.realm == realm && $0.isDefault } }

    /// The session of the named principal, whatever its realm is, or the default session of a realm if none is named.
    package func session(of principal: Principal?, orDefaultOf realm: String) -> Session? {
        if let principal { session(of: principal) } else { defaultSession(realm: realm) }
    }
}
