/// A profile's configuration of one realm, from a profile parser or created directly.
///
/// The lists of hosts after ``hosts`` and the service principals are the profile's own keys: they narrow or widen what is done for a host
/// that ``hosts`` covers, and say nothing of others.
///
/// Its coded form is also the agent's message. Entries are coded as a profile writes them.
public struct ExtensionConfiguration: Sendable, Hashable, Codable {
    /// The realm that the user signs in to.
    public var realm: String
    /// The hosts whose challenges are answered.
    public var hosts: [HostRule] = []
    /// The hosts that are answered over plain http as well: `PlainHTTPHosts`.
    public var plainHTTPHosts: [HostRule] = []
    /// The hosts that get a ticket without asking for it, once they have asked for one: `PreemptiveHosts`.
    public var preemptiveHosts: [HostRule] = []
    /// The hosts that get the user's own ticket if the KDC vouches for them: `DelegationHosts`.
    public var delegationHosts: [HostRule] = []
    /// The hosts that get the user's own ticket whatever the KDC says of them: `UnconditionalDelegationHosts`.
    public var unconditionalDelegationHosts: [HostRule] = []
    /// The hosts that need not prove themselves, but whose proof must hold: `OptionalMutualAuthenticationHosts`.
    public var optionalMutualAuthenticationHosts: [HostRule] = []
    /// The hosts that are not asked to prove themselves: `NoMutualAuthenticationHosts`.
    public var noMutualAuthenticationHosts: [HostRule] = []
    /// The hosts whose TLS ends before the server, so that a ticket can't be bound to it: `NoChannelBindingHosts`.
    public var noChannelBindingHosts: [HostRule] = []
    /// The service principals that differ from `HTTP/host`, each for one origin: `ServicePrincipals`.
    public var servicePrincipals: [Origin: String] = [:]
    /// The principal to sign in as, if the profile names one.
    public var principalName: String?
    /// Whether this is the realm when nothing else decides.
    public var isDefaultRealm = false
    /// DNS suffixes by the realm that their services are in.
    ///
    /// `example.com` covers itself and its subdomains, `.example.com` the subdomains only.
    public var domainRealmMapping: [String: [String]] = [:]
    /// The KDCs to try first, in their order.
    public var preferredKDCs: [PreferredKDC] = []
    /// When its sessions end although nobody signs out.
    public var sessionLimits = SessionLimits()
    /// After which part of its life a ticket is got anew, from 0.1 to 0.95: `RenewAtFraction`. Nil: after two thirds.
    ///
    /// Values outside the range count as the nearer limit, and NaN as nil.
    public var renewalFraction: Double?
    /// What happens to a request while the screen is locked: `ScreenLockedBehavior`. Nil answers it as usual.
    public var screenLockedBehavior: ScreenLockedBehavior?
    /// The other local users who get tokens from this user's agent: `AllowedPeers`.
    public var allowedPeers: [AllowedPeer] = []
    /// The programs that may use the agent's tickets: `credentialBundleIdACL`. Nil: each of the user's.
    public var credentialCallers: [CredentialCaller]?
    /// What it says of passwords.
    public var passwords = PasswordRules()
    /// The programs that get none of the agent's tickets: `DeniedBundleIdentifiers`.
    public var deniedCallers: [CredentialCaller] = []
    /// Whose credential answers: `credentialUseMode`. Nil is as ``CredentialUseMode/whenNotSpecified``.
    public var credentialUseMode: CredentialUseMode?
    /// Whether an agent gets tickets anew by itself: `monitorCredentialsCache`. Else when a request needs them, or the network changes.
    public var monitorsCredentials = true
    /// With what a user may sign in.
    public var signIn = SignInRules()
    /// Where it comes from, for verdicts: the profile's file name.
    public var source = ""

    /// Makes a configuration from the fields that most need. Set the others afterward.
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
        try container.decode(.principalName, into: &principalName)
        try container.decode(.isDefaultRealm, into: &isDefaultRealm)
        try container.decode(.domainRealmMapping, into: &domainRealmMapping)
        try container.decode(.preferredKDCs, into: &preferredKDCs)
        try container.decode(.sessionLimits, into: &sessionLimits)
        try container.decode(.renewalFraction, into: &renewalFraction)
        try container.decode(.screenLockedBehavior, into: &screenLockedBehavior)
        try container.decode(.allowedPeers, into: &allowedPeers)
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
    /// The rule of ``preemptiveHosts`` that covers a host.
    func preemptiveRule(for host: String) -> HostRule? { preemptiveHosts.first { $0.matches(host: host) } }

    /// The delegation for a host, and the rule that sets it. The unconditional list takes precedence.
    func delegation(for host: String) -> (delegation: Delegation, rule: HostRule?) {
        if let rule = unconditionalDelegationHosts.first(where: { $0.matches(host: host) }) { return (.always, rule) }
        if let rule = delegationHosts.first(where: { $0.matches(host: host) }) { return (.byPolicy, rule) }
        return (.none, nil)
    }

    /// The mutual authentication for a host, and the rule that sets it. The stricter list takes precedence.
    func mutualAuthentication(for host: String) -> (mutualAuthentication: MutualAuthentication, rule: HostRule?) {
        if let rule = optionalMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.optional, rule) }
        if let rule = noMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.off, rule) }
        return (.required, nil)
    }

    /// The rule of ``noChannelBindingHosts`` that covers a host.
    func unboundRule(for host: String) -> HostRule? { noChannelBindingHosts.first { $0.matches(host: host) } }
}

/// Whose credential answers a host of `Hosts`: the key `credentialUseMode`, as its first text had it, which agrees with the values' names.
public enum CredentialUseMode: String, Sendable, Hashable, CaseIterable, Codable {
    /// The extension's, whatever principal the program names.
    case always
    /// The extension's, or that of the principal that the program names.
    case whenNotSpecified
    /// libkrb5's default credential: the primary cache's principal, whatever its realm. The host does not matter.
    case kerberosDefault
}

extension CredentialUseMode {
    /// The principal to use, given the one that a program names.
    package func choice(_ named: String?) -> String? { self == .always ? nil : named }
}

/// What becomes of a request while the screen is locked: the key `ScreenLockedBehavior`.
public enum ScreenLockedBehavior: String, Sendable, Hashable, CaseIterable, Codable {
    /// The request is canceled.
    case cancel = "Cancel"
    /// The request continues without sign-on.
    case doNotHandle = "DoNotHandle"
}
