/// The options of a test realm.
public struct TestRealmOptions: Sendable {
    /// The realm's name.
    public var name: String
    /// The users and their passwords.
    public var users: [String: String]
    /// The service principals, without the realm; their keys are added to the realm's keytab.
    public var services: [String]
    /// Further principals, with all properties of ``TestPrincipal``.
    public var principals: [TestPrincipal]
    /// The password policies that ``principals`` refer to.
    public var policies: [PasswordPolicy]
    /// The maximum ticket lifetime, in whole seconds; ten hours if nil.
    public var ticketLifetime: Duration?
    /// The maximum renewable lifetime, in whole seconds; seven days if nil. The client must still request a renewable ticket.
    public var renewableLifetime: Duration?
    /// The offset of the KDC's clock from the machine's, in whole seconds; negative sets the KDC's clock back.
    public var clockOffset: Duration?
    /// Whether users must pre-authenticate. Otherwise the KDC does not count wrong passwords.
    public var requiresPreauthentication: Bool
    /// Whether kadmind also runs, so that passwords can be changed (`kpasswd`, RFC 3244).
    public var acceptsPasswordChanges: Bool
    /// The address at which all servers of the realm listen: KDCs, kadmind, ``TestRealm/network``, and the kit's web servers.
    ///
    /// It must be one IPv4 address of this machine that clients can use, so 0.0.0.0 is not valid. With an address other than 127.0.0.1,
    /// such as Docker's 172.17.0.1, containers and other machines can be clients too: anyone who can reach it can send requests to the KDC,
    /// which has only the test's passwords.
    public var address: String
    /// The number of KDCs: processes with their own ports that share one database. krb5.conf lists them in order.
    public var kdcCount: Int
    /// Relations in `[libdefaults]` of the realm's krb5.conf; they replace those of the kit.
    public var clientRelations: [String: String]
    /// Relations in the realm's section of kdc.conf; they replace those of the kit.
    public var kdcRelations: [String: String]
    /// Plugins for client and KDC, by the interface in libkrb5's `[plugins]`: `clpreauth` is `pkinit:/usr/lib/…/pkinit.so`.
    public var pluginModules: [String: String]
    /// Whether clients reach the KDC through a proxy that can lose, corrupt and refuse messages: ``TestRealm/network``. Clients then start
    /// with UDP, which is libkrb5's default, instead of TCP.
    public var faultProxy: Bool

    /// Whether users can sign in with certificates (PKINIT, RFC 4556), and anonymously without one (`kinit -n`).
    ///
    /// Requires `openssl` and libkrb5's plugin: the Debian package `krb5-pkinit`, or ``pluginDirectory``.
    public var acceptsCertificates: Bool
    /// Whether the KDC accepts a password only inside FAST armor (RFC 6113), from users who must pre-authenticate: `kinit -T`, with
    /// ``TestRealm/armorCache()``.
    public var demandsFAST: Bool
    /// A folder that contains `preauth/pkinit.so` or `tls/k5tls.so`, for libkrb5 plugins that are not installed.
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
