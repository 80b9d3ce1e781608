public import Kerberos

public import struct Foundation.Date

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
