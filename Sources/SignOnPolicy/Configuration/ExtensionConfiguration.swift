/// A profile's configuration of one realm, from a profile parser or created directly.
///
/// The host lists after ``hosts`` change how a host is answered. They have no effect on a host that ``hosts`` does not cover; only
/// ``proxyHosts`` is independent of it.
///
/// The coded form is also the message that the agent sends to its clients. Entries are coded in profile syntax.
public struct ExtensionConfiguration: Sendable, Hashable, Codable {
    /// The realm that the user signs in to.
    public var realm: String
    /// The hosts whose challenges are answered.
    public var hosts: [HostRule] = []
    /// The hosts that are also answered over plain http: `PlainHTTPHosts`.
    public var plainHTTPHosts: [HostRule] = []
    /// The hosts that, after their first challenge, get a ticket with each request without a challenge: `PreemptiveHosts`.
    public var preemptiveHosts: [HostRule] = []
    /// The hosts to which the user's ticket is delegated if the KDC trusts them for delegation: `DelegationHosts`.
    public var delegationHosts: [HostRule] = []
    /// The hosts to which the user's ticket is delegated without the KDC's approval: `UnconditionalDelegationHosts`.
    public var unconditionalDelegationHosts: [HostRule] = []
    /// The hosts that may omit mutual authentication, but whose final token must be valid: `OptionalMutualAuthenticationHosts`.
    public var optionalMutualAuthenticationHosts: [HostRule] = []
    /// The hosts for which mutual authentication is not requested: `NoMutualAuthenticationHosts`.
    public var noMutualAuthenticationHosts: [HostRule] = []
    /// The hosts behind a TLS proxy, whose tickets cannot be bound to the TLS certificate: `NoChannelBindingHosts`.
    public var noChannelBindingHosts: [HostRule] = []
    /// The proxies that get a ticket when they ask for one: `ProxyHosts`. Independent of ``hosts``.
    public var proxyHosts: [HostRule] = []
    /// The service principals of origins that do not use `HTTP/host`: `ServicePrincipals`.
    public var servicePrincipals: [Origin: String] = [:]
    /// The proxies that `ksso proxy run` sends requests through, best first: `ProxyServers`. Without them and
    /// ``proxyAutoConfigURL``, the variables `http_proxy` and `https_proxy` of its process apply.
    public var proxyServers: [ProxyAddress] = []
    /// The URL of the PAC file by which `ksso proxy run` selects proxies: `ProxyAutoConfigURL`.
    public var proxyAutoConfigURL: String?
    /// The hosts, domains and networks that `ksso proxy run` connects to directly, as in the variable `no_proxy`: `NoProxy`.
    public var noProxy: [String] = []
    /// The principal that signs in, if the profile sets one: `principalName`.
    public var principalName: String?
    /// The principal that signs in if neither the caller nor the profile names one: the user's choice, from the file `principals`. It does
    /// not select among sessions.
    public var userPrincipal: String?
    /// Whether this is the default realm: `isDefaultRealm`.
    public var isDefaultRealm = false
    /// The DNS suffixes whose services are in another realm, by realm: `domainRealmMapping`.
    ///
    /// `example.com` covers itself and its subdomains, `.example.com` the subdomains only.
    public var domainRealmMapping: [String: [String]] = [:]
    /// The KDCs to try first, in order: `preferredKDCs`.
    public var preferredKDCs: [PreferredKDC] = []
    /// The Active Directory site whose controllers are preferred: `siteCode`. Nil asks the domain for the site of this machine's network.
    public var siteCode: String?
    /// Whether the nearest controllers are looked for if ``siteCode`` names no site: `useSiteAutoDiscovery`.
    public var discoversSite = true
    /// Whether the directory of the realm's domain is read by TLS only: `requireTLSForLDAP`.
    public var requiresTLSForLDAP = false
    /// When sessions end without a sign-out.
    public var sessionLimits = SessionLimits()
    /// The fraction of its lifetime after which a ticket is renewed or reacquired: `RenewAtFraction`. Nil means two thirds.
    ///
    /// Values are limited to the range from 0.1 to 0.95; NaN counts as nil.
    public var renewalFraction: Double?
    /// How to answer a request while the screen is locked: `ScreenLockedBehavior`. Nil answers it as usual.
    public var screenLockedBehavior: ScreenLockedBehavior?
    /// The other local users who can get tokens from this user's agent: `AllowedPeers`.
    public var allowedPeers: [AllowedPeer] = []
    /// How `credentialBundleIdACL` is applied if it names no program of Linux: `CredentialBundleIdACLMode`.
    public var callerListMode = CallerListMode.lenient
    /// The programs that may use the agent's tickets: `credentialBundleIdACL`. Nil allows every program of the user.
    public var credentialCallers: [CredentialCaller]?
    /// The rules for passwords.
    public var passwords = PasswordRules()
    /// The programs that must not use the agent's tickets: `DeniedBundleIdentifiers`.
    public var deniedCallers: [CredentialCaller] = []
    /// Which credential answers: `credentialUseMode`. Nil means ``CredentialUseMode/whenNotSpecified``.
    public var credentialUseMode: CredentialUseMode?
    /// Whether an agent renews tickets before a request needs them: `monitorCredentialsCache`. Otherwise it renews them when a request
    /// needs them or the network changes.
    public var monitorsCredentials = true
    /// The permitted ways to sign in.
    public var signIn = SignInRules()
    /// The name of the profile's file, for messages.
    public var source = ""

    /// Creates a configuration with the most common settings. The other properties have defaults and can be set afterward.
    public init(
        realm: String,
        hosts: [HostRule] = [],
        plainHTTPHosts: [HostRule] = [],
        principalName: String? = nil,
        isDefaultRealm: Bool = false,
        domainRealmMapping: [String: [String]] = [:],
        renewalFraction: Double? = nil,
        passwords: PasswordRules = .init(),
        source: String = ""
    ) {
        self.realm = realm
        self.hosts = hosts
        self.plainHTTPHosts = plainHTTPHosts
        self.principalName = principalName
        self.isDefaultRealm = isDefaultRealm
        self.domainRealmMapping = domainRealmMapping
        self.renewalFraction = renewalFraction
        self.passwords = passwords
        self.source = source
    }
}

extension ExtensionConfiguration {
    /// Decodes a configuration. A missing key has its default, and an unknown key is ignored, so that versions can differ.
    ///
    /// - Throws: `DecodingError` for a value that the initializer of its type refuses; it contains that value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(realm: try container.decode(String.self, forKey: .realm))
        try container.decode(.hosts, into: &hosts)
        try container.decode(.plainHTTPHosts, into: &plainHTTPHosts)
        try container.decode(.preemptiveHosts, into: &preemptiveHosts)
        try container.decode(.delegationHosts, into: &delegationHosts)
        try container.decode(.unconditionalDelegationHosts, into: &unconditionalDelegationHosts)
        try container.decode(.optionalMutualAuthenticationHosts, into: &optionalMutualAuthenticationHosts)
        try container.decode(.noMutualAuthenticationHosts, into: &noMutualAuthenticationHosts)
        try container.decode(.noChannelBindingHosts, into: &noChannelBindingHosts)
        try container.decode(.servicePrincipals, into: &servicePrincipals)
        try container.decode(.proxyHosts, into: &proxyHosts)
        try container.decode(.proxyServers, into: &proxyServers)
        try container.decode(.proxyAutoConfigURL, into: &proxyAutoConfigURL)
        try container.decode(.noProxy, into: &noProxy)
        try container.decode(.principalName, into: &principalName)
        try container.decode(.userPrincipal, into: &userPrincipal)
        try container.decode(.isDefaultRealm, into: &isDefaultRealm)
        try container.decode(.domainRealmMapping, into: &domainRealmMapping)
        try container.decode(.preferredKDCs, into: &preferredKDCs)
        try container.decode(.siteCode, into: &siteCode)
        try container.decode(.discoversSite, into: &discoversSite)
        try container.decode(.requiresTLSForLDAP, into: &requiresTLSForLDAP)
        try container.decode(.sessionLimits, into: &sessionLimits)
        try container.decode(.renewalFraction, into: &renewalFraction)
        try container.decode(.screenLockedBehavior, into: &screenLockedBehavior)
        try container.decode(.allowedPeers, into: &allowedPeers)
        try container.decode(.callerListMode, into: &callerListMode)
        try container.decode(.credentialCallers, into: &credentialCallers)
        try container.decode(.passwords, into: &passwords)
        try container.decode(.deniedCallers, into: &deniedCallers)
        try container.decode(.credentialUseMode, into: &credentialUseMode)
        try container.decode(.monitorsCredentials, into: &monitorsCredentials)
        try container.decode(.signIn, into: &signIn)
        try container.decode(.source, into: &source)
    }
}

extension ExtensionConfiguration {
    /// The fields that another user's client needs to decide as the agent does: all lists of hosts, and those that select the service.
    ///
    /// They are copied one by one so that every other field, and a new one, stays with the owner.
    package var forPeers: ExtensionConfiguration {
        var copy = ExtensionConfiguration(realm: realm, hosts: hosts)
        for list in HostList.all { copy[keyPath: list.property] = self[keyPath: list.property] }
        copy.servicePrincipals = servicePrincipals
        copy.principalName = principalName
        copy.isDefaultRealm = isDefaultRealm
        copy.domainRealmMapping = domainRealmMapping
        copy.preferredKDCs = preferredKDCs
        return copy
    }
}

/// Which credential answers a host of `Hosts`: the key `credentialUseMode`. The meaning is that of Apple's first documentation, which
/// agrees with the values' names.
public enum CredentialUseMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// The extension's, even if the program names another principal.
    case always
    /// That of the principal that the program names, or else the extension's.
    case whenNotSpecified
    /// libkrb5's default credential: that of the primary cache, for every host and realm.
    case kerberosDefault
}

extension CredentialUseMode {
    /// The principal to use, given the one that a program names.
    package func choice(_ named: String?) -> String? { self == .always ? nil : named }
}

/// How a request is answered while the screen is locked: the key `ScreenLockedBehavior`.
public enum ScreenLockedBehavior: String, Sendable, Hashable, CaseIterable, Codable {
    /// The request is canceled.
    case cancel = "Cancel"
    /// The request continues without sign-on.
    case doNotHandle = "DoNotHandle"
}

extension ExtensionConfiguration {
    /// Sentences about values that can be used and are probably mistakes.
    package var warnings: [String] {
        [Self.caseWarning(realm: realm)].compactMap(\.self) + hosts.filter(\.isPublicSuffix).map(\.publicSuffixWarning)
    }

    /// The sentence about a realm that is not in upper case; nil for one that is.
    package static func caseWarning(realm: String) -> String? {
        guard realm != realm.uppercased() else { return nil }
        return "The realm \(realm.debugDescription) is not in upper case. Most realms are, and case matters: check whether "
            + "\(realm.uppercased()) is meant."
    }
}
