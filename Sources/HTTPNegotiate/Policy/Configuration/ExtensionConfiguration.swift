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
    public var hosts: [HostRule]
    /// The hosts that are answered over plain http too: `PlainHTTPHosts`.
    public var plainHTTPHosts: [HostRule]
    /// The hosts that get a ticket without a challenge, once they have challenged: `PreemptiveHosts`.
    public var preemptiveHosts: [HostRule]
    /// The hosts that the user's ticket is delegated to if the KDC trusts them for delegation: `DelegationHosts`.
    public var delegationHosts: [HostRule]
    /// The hosts that the user's ticket is always delegated to: `UnconditionalDelegationHosts`.
    public var unconditionalDelegationHosts: [HostRule]
    /// The hosts that need not authenticate themselves, but whose proof must verify: `OptionalMutualAuthenticationHosts`.
    public var optionalMutualAuthenticationHosts: [HostRule]
    /// The hosts that are not asked to authenticate themselves: `NoMutualAuthenticationHosts`.
    public var noMutualAuthenticationHosts: [HostRule]
    /// The hosts whose TLS connection ends before the server, so that a ticket can't be bound to it: `NoChannelBindingHosts`.
    public var noChannelBindingHosts: [HostRule]
    /// The service principals other than `HTTP/host`, each for one origin: `ServicePrincipals`.
    public var servicePrincipals: [Origin: String]
    /// The principal to sign in as, if the profile names one.
    public var principalName: String?
    /// Whether this is the default realm.
    public var isDefaultRealm: Bool
    /// DNS suffixes by the realm of their services.
    ///
    /// `example.com` covers itself and its subdomains, `.example.com` only the subdomains.
    public var domainRealmMapping: [String: [String]]
    /// The KDCs to try first, in order.
    public var preferredKDCs: [PreferredKDC]
    /// When sessions end without a sign-out.
    public var sessionLimits: SessionLimits
    /// The fraction of its lifetime, from 0.1 to 0.95, after which a ticket is renewed or reacquired: `RenewAtFraction`. Nil is two thirds.
    ///
    /// Values outside the range count as the nearer limit, and NaN as nil.
    public var renewalFraction: Double?
    /// What happens to a request while the screen is locked: `ScreenLockedBehavior`. Nil answers it as usual.
    public var screenLockedBehavior: ScreenLockedBehavior?
    /// The other local users who get tokens from this user's agent: `AllowedPeers`.
    public var allowedPeers: [AllowedPeer]
    /// The programs that may use the agent's tickets: `credentialBundleIdACL`. Nil is all of the user's programs.
    public var credentialCallers: [CredentialCaller]?
    /// The rules for passwords.
    public var passwords: PasswordRules
    /// The programs that get none of the agent's tickets: `DeniedBundleIdentifiers`.
    public var deniedCallers: [CredentialCaller]
    /// Whose credential answers: `credentialUseMode`. Nil is ``CredentialUseMode/whenNotSpecified``.
    public var credentialUseMode: CredentialUseMode?
    /// Whether an agent renews or reacquires tickets without a request or a change of the network: `monitorCredentialsCache`.
    public var monitorsCredentials: Bool
    /// How a user may sign in.
    public var signIn: SignInRules
    /// The name of the profile's file, for reasons and messages.
    public var source: String

    /// Creates a configuration. Only the realm is required.
    public init(
        realm: String,
        hosts: [HostRule] = [],
        plainHTTPHosts: [HostRule] = [],
        preemptiveHosts: [HostRule] = [],
        delegationHosts: [HostRule] = [],
        unconditionalDelegationHosts: [HostRule] = [],
        optionalMutualAuthenticationHosts: [HostRule] = [],
        noMutualAuthenticationHosts: [HostRule] = [],
        noChannelBindingHosts: [HostRule] = [],
        servicePrincipals: [Origin: String] = [:],
        principalName: String? = nil,
        isDefaultRealm: Bool = false,
        domainRealmMapping: [String: [String]] = [:],
        preferredKDCs: [PreferredKDC] = [],
        sessionLimits: SessionLimits = .init(),
        renewalFraction: Double? = nil,
        screenLockedBehavior: ScreenLockedBehavior? = nil,
        allowedPeers: [AllowedPeer] = [],
        credentialCallers: [CredentialCaller]? = nil,
        passwords: PasswordRules = .init(),
        deniedCallers: [CredentialCaller] = [],
        credentialUseMode: CredentialUseMode? = nil,
        monitorsCredentials: Bool = true,
        signIn: SignInRules = .init(),
        source: String = ""
    ) {
        self.realm = realm
        self.hosts = hosts
        self.plainHTTPHosts = plainHTTPHosts
        self.preemptiveHosts = preemptiveHosts
        self.delegationHosts = delegationHosts
        self.unconditionalDelegationHosts = unconditionalDelegationHosts
        self.optionalMutualAuthenticationHosts = optionalMutualAuthenticationHosts
        self.noMutualAuthenticationHosts = noMutualAuthenticationHosts
        self.noChannelBindingHosts = noChannelBindingHosts
        self.servicePrincipals = servicePrincipals
        self.principalName = principalName
        self.isDefaultRealm = isDefaultRealm
        self.domainRealmMapping = domainRealmMapping
        self.preferredKDCs = preferredKDCs
        self.sessionLimits = sessionLimits
        self.renewalFraction = renewalFraction
        self.screenLockedBehavior = screenLockedBehavior
        self.allowedPeers = allowedPeers
        self.credentialCallers = credentialCallers
        self.passwords = passwords
        self.deniedCallers = deniedCallers
        self.credentialUseMode = credentialUseMode
        self.monitorsCredentials = monitorsCredentials
        self.signIn = signIn
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
