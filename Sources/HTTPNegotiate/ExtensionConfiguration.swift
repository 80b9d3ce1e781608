/// What a profile says about one realm. A reader of profiles makes it; so may you, by hand.
public struct ExtensionConfiguration: Sendable, Hashable {
    /// The realm that the user signs in to.
    public var realm: String
    /// The hosts whose challenges are answered.
    public var hosts: [HostRule]
    /// The hosts of ``hosts`` that are answered over plain http as well: the profile's own key `PlainHTTPHosts`.
    public var plainHTTPHosts: [HostRule]
    /// The principal to sign in as, if the profile names one.
    public var principalName: String?
    /// Whether this is the realm when nothing else decides.
    public var isDefaultRealm: Bool
    /// DNS suffixes by the realm that their services are in.
    ///
    /// `example.com` covers itself and its subdomains, `.example.com` the subdomains only.
    public var domainRealmMapping: [String: [String]]
    /// The KDCs to try first, in their order.
    public var preferredKDCs: [PreferredKDC]
    /// Where it comes from, for verdicts: the profile's file name.
    public var source: String

    /// Makes a configuration; all but the realm has a default that says nothing.
    public init(
        realm: String,
        hosts: [HostRule] = [],
        plainHTTPHosts: [HostRule] = [],
        principalName: String? = nil,
        isDefaultRealm: Bool = false,
        domainRealmMapping: [String: [String]] = [:],
        preferredKDCs: [PreferredKDC] = [],
        source: String = ""
    ) {
        self.realm = realm
        self.hosts = hosts
        self.plainHTTPHosts = plainHTTPHosts
        self.principalName = principalName
        self.isDefaultRealm = isDefaultRealm
        self.domainRealmMapping = domainRealmMapping
        self.preferredKDCs = preferredKDCs
        self.source = source
    }
}
