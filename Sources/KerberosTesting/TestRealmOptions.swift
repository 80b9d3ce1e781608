/// What a test realm starts with.
public struct TestRealmOptions: Sendable {
    /// The realm's name.
    public var name: String
    /// The users and their passwords.
    public var users: [String: String]
    /// The service principals, without the realm; their keys go into the realm's keytab.
    public var services: [String]
    /// The longest life of a ticket, in whole seconds; ten hours if nil.
    public var ticketLifetime: Duration?
    /// How long a ticket can be renewed, in whole seconds; seven days if nil. The client still has to ask for a renewable ticket.
    public var renewableLifetime: Duration?
    /// How far the KDC's clock is from the machine's, in whole seconds; negative means that the KDC is behind.
    public var clockOffset: Duration?
    /// Whether a user has to pre-authenticate. Without it the KDC does not count wrong passwords.
    public var requiresPreauthentication: Bool
    /// Whether kadmind runs as well, so that passwords can be changed (`kpasswd`, RFC 3244).
    public var acceptsPasswordChanges: Bool
    /// Relations for `[libdefaults]` of the realm's krb5.conf; they replace those that the kit writes.
    public var clientRelations: [String: String]
    /// Relations for the realm's part of kdc.conf; they replace those that the kit writes.
    public var kdcRelations: [String: String]
    /// Plugins for client and KDC, by the interface of libkrb5's `[plugins]`: `clpreauth` is `pkinit:/usr/lib/…/pkinit.so`.
    public var pluginModules: [String: String] = [:]

    /// Creates options; each has a default.
    public init(
        name: String = "EXAMPLE.TEST",
        users: [String: String] = [:],
        services: [String] = [],
        ticketLifetime: Duration? = nil,
        renewableLifetime: Duration? = nil,
        clockOffset: Duration? = nil,
        requiresPreauthentication: Bool = true,
        acceptsPasswordChanges: Bool = false,
        clientRelations: [String: String] = [:],
        kdcRelations: [String: String] = [:]
    ) {
        self.name = name
        self.users = users
        self.services = services
        self.ticketLifetime = ticketLifetime
        self.renewableLifetime = renewableLifetime
        self.clockOffset = clockOffset
        self.requiresPreauthentication = requiresPreauthentication
        self.acceptsPasswordChanges = acceptsPasswordChanges
        self.clientRelations = clientRelations
        self.kdcRelations = kdcRelations
    }
}
