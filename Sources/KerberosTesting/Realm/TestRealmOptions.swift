/// What a test realm starts with.
public struct TestRealmOptions: Sendable {
    /// The realm's name.
    public var name: String
    /// The users and their passwords.
    public var users: [String: String]
    /// The service principals, without the realm; their keys go into the realm's keytab.
    public var services: [String]
    /// Further principals, with everything that can be said of one.
    public var principals: [TestPrincipal]
    /// The password policies that ``principals`` refer to.
    public var policies: [PasswordPolicy]
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
    /// The address at which everything of the realm listens: KDCs, kadmind, ``TestRealm/network``, and the web servers of the kit.
    ///
    /// One IPv4 address of this machine; clients are told it, so 0.0.0.0 is none. At another one than 127.0.0.1, such as Docker's
    /// 172.17.0.1, containers and other machines are clients too: whoever reaches it may ask the KDC, which knows the test's passwords
    /// only.
    public var address: String
    /// How many KDCs serve the realm: processes with ports of their own, over one database. krb5.conf names them in order.
    public var kdcCount: Int
    /// Relations for `[libdefaults]` of the realm's krb5.conf; they replace those that the kit writes.
    public var clientRelations: [String: String]
    /// Relations for the realm's part of kdc.conf; they replace those that the kit writes.
    public var kdcRelations: [String: String]
    /// Plugins for client and KDC, by the interface of libkrb5's `[plugins]`: `clpreauth` is `pkinit:/usr/lib/…/pkinit.so`.
    public var pluginModules: [String: String]
    /// Whether clients reach the KDC through a proxy that can lose, spoil and refuse what they send: ``TestRealm/network``. They begin with
    /// UDP then, as libkrb5 does by itself, and not with TCP.
    public var faultProxy: Bool

    /// Whether users can sign in with certificates (PKINIT, RFC 4556), and nobody in particular with none (`kinit -n`).
    ///
    /// Needs `openssl` and libkrb5's plugin: the Debian package `krb5-pkinit`, or ``pluginDirectory``.
    public var acceptsCertificates: Bool
    /// Whether the KDC takes a password only where the sign-in is protected by another ticket (FAST, RFC 6113), from users who have to
    /// pre-authenticate: `kinit -T`, with ``TestRealm/armorCache()``.
    public var demandsFAST: Bool
    /// A folder that has `preauth/pkinit.so` or `tls/k5tls.so`, for plugins of libkrb5 that are not installed.
    public var pluginDirectory: String?

    /// Creates options; each has a default.
    public init(
        name: String = "EXAMPLE.TEST",
        users: [String: String] = [:],
        services: [String] = [],
        principals: [TestPrincipal] = [],
        policies: [PasswordPolicy] = [],
        ticketLifetime: Duration? = nil,
        renewableLifetime: Duration? = nil,
        clockOffset: Duration? = nil,
        requiresPreauthentication: Bool = true,
        acceptsPasswordChanges: Bool = false,
        address: String = "127.0.0.1",
        kdcCount: Int = 1,
        clientRelations: [String: String] = [:],
        kdcRelations: [String: String] = [:],
        pluginModules: [String: String] = [:],
        faultProxy: Bool = false,
        acceptsCertificates: Bool = false,
        demandsFAST: Bool = false,
        pluginDirectory: String? = nil
    ) {
        self.name = name
        self.users = users
        self.services = services
        self.principals = principals
        self.policies = policies
        self.ticketLifetime = ticketLifetime
        self.renewableLifetime = renewableLifetime
        self.clockOffset = clockOffset
        self.requiresPreauthentication = requiresPreauthentication
        self.acceptsPasswordChanges = acceptsPasswordChanges
        self.address = address
        self.kdcCount = kdcCount
        self.clientRelations = clientRelations
        self.kdcRelations = kdcRelations
        self.pluginModules = pluginModules
        self.faultProxy = faultProxy
        self.acceptsCertificates = acceptsCertificates
        self.demandsFAST = demandsFAST
        self.pluginDirectory = pluginDirectory
    }
}
