public import struct Foundation.Date

/// Who is signed in after a sign-in or a refresh, and for how long.
///
/// Its times are by this machine's clock, whatever the KDC's says. More may be told in a later version.
public struct AuthorizationReply: Sendable, Hashable, Codable {
    /// The user principal name: `alice@CORP.EXAMPLE`.
    public var userPrincipalName: String
    /// The realm that the user is signed in to.
    public var realm: String
    /// Until when the ticket-granting ticket holds.
    public var ticketExpires: Date
    /// Until when it can be renewed; nil when it can't.
    public var renewUntil: Date?
    /// When the password expires; nil where nobody knows, and where it never does.
    public var passwordExpires: Date?
    /// Where the tickets are, as `KRB5CCNAME` names it: `FILE:/tmp/krb5cc_1000`.
    public var cache: String

    /// Makes a reply.
    public init(
        userPrincipalName: String,
        realm: String,
        ticketExpires: Date,
        renewUntil: Date? = nil,
        passwordExpires: Date? = nil,
        cache: String
    ) {
        self.userPrincipalName = userPrincipalName
        self.realm = realm
        self.ticketExpires = ticketExpires
        self.renewUntil = renewUntil
        self.passwordExpires = passwordExpires
        self.cache = cache
    }
}
