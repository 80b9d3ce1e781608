/// What a profile says about one realm. A reader of profiles makes it; so may you, by hand.
///
/// The lists of hosts after ``hosts`` and the service principals are the profile's own keys: they narrow or widen what is done for a host
/// that ``hosts`` covers, and say nothing of others.
public struct ExtensionConfiguration: Sendable, Hashable {
    /// The realm that the user signs in to.
    public var realm: String
    /// The hosts whose challenges are answered.
    public var hosts: [HostRule]
    /// The hosts that are answered over plain http as well: `PlainHTTPHosts`.
    public var plainHTTPHosts: [HostRule]
    /// The hosts that get a ticket without asking for it, once they have asked for one: `PreemptiveHosts`.
    public var preemptiveHosts: [HostRule]
    /// The hosts that get the user's own ticket if the KDC vouches for them: `DelegationHosts`.
    public var delegationHosts: [HostRule]
    /// The hosts that get the user's own ticket whatever the KDC says of them: `UnconditionalDelegationHosts`.
    public var unconditionalDelegationHosts: [HostRule]
    /// The hosts that need not prove themselves, but whose proof must hold: `OptionalMutualAuthenticationHosts`.
    public var optionalMutualAuthenticationHosts: [HostRule]
    /// The hosts that are not asked to prove themselves: `NoMutualAuthenticationHosts`.
    public var noMutualAuthenticationHosts: [HostRule]
    /// The hosts whose TLS ends before the server, so that a ticket can't be bound to it: `NoChannelBindingHosts`.
    public var noChannelBindingHosts: [HostRule]
    /// The service principals that differ from `HTTP/host`, each for one origin: `ServicePrincipals`.
    public var servicePrincipals: [Origin: String]
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
    /// When its sessions end although nobody signs out.
    public var sessionLimits: SessionLimits
    /// After which part of its life a ticket is got anew, from 0.1 to 0.95: `RenewAtFraction`. Nil: after two thirds.
    ///
    /// What lies outside counts as the nearer end, and what is not a number as nil.
    public var renewalFraction: Double?
    /// What becomes of a request while the screen is locked: `ScreenLockedBehavior`. Nil: it is answered as ever.
    public var screenLockedBehavior: ScreenLockedBehavior?
    /// The other local users who get tokens from this user's agent: `AllowedPeers`.
    public var allowedPeers: [AllowedPeer]
    /// The programs that may use the agent's tickets: `credentialBundleIdACL`. Nil: each of the user's.
    public var credentialCallers: [CredentialCaller]?
    /// What it says of passwords.
    public var passwords: PasswordRules
    /// The programs that get none of the agent's tickets: `DeniedBundleIdentifiers`.
    public var deniedCallers: [CredentialCaller]
    /// Whose credential answers: `credentialUseMode`. Nil is as ``CredentialUseMode/whenNotSpecified``.
    public var credentialUseMode: CredentialUseMode?
    /// Whether an agent gets tickets anew by itself: `monitorCredentialsCache`. Else when a request needs them, or the network changes.
    public var monitorsCredentials: Bool
    /// With what a user may sign in.
    public var signIn: SignInRules
    /// Where it comes from, for verdicts: the profile's file name.
    public var source: String

    /// Makes a configuration; all but the realm has a default that says nothing.
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
    /// The rule of ``preemptiveHosts`` that covers a host.
    func preemptiveRule(for host: String) -> HostRule? { preemptiveHosts.first { $0.matches(host: host) } }

    /// What the lists say of delegation, with the rule that says it. The unconditional list wins.
    func delegation(for host: String) -> (delegation: Delegation, rule: HostRule?) {
        if let rule = unconditionalDelegationHosts.first(where: { $0.matches(host: host) }) { return (.always, rule) }
        if let rule = delegationHosts.first(where: { $0.matches(host: host) }) { return (.byPolicy, rule) }
        return (.none, nil)
    }

    /// What the lists say of mutual authentication, with the rule that says it. The stricter list wins.
    func mutualAuthentication(for host: String) -> (mutualAuthentication: MutualAuthentication, rule: HostRule?) {
        if let rule = optionalMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.optional, rule) }
        if let rule = noMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.off, rule) }
        return (.required, nil)
    }

    /// The rule of ``noChannelBindingHosts`` that covers a host.
    func unboundRule(for host: String) -> HostRule? { noChannelBindingHosts.first { $0.matches(host: host) } }
}

/// Whose credential answers a host of `Hosts`: the key `credentialUseMode`, as its first text had it, which agrees with the values' names.
public enum CredentialUseMode: String, Sendable, Hashable, CaseIterable {
    /// The extension's, whatever principal the program names.
    case always
    /// The extension's, where the program names no principal; else that of the one it names.
    case whenNotSpecified
    /// That of libkrb5's default credential: the primary cache's principal, whatever its realm. No choice is made by host.
    case kerberosDefault
}

extension CredentialUseMode {
    /// The principal that counts of those a program names.
    package func choice(_ named: String?) -> String? { self == .always ? nil : named }
}

/// What becomes of a request while the screen is locked: the key `ScreenLockedBehavior`.
public enum ScreenLockedBehavior: String, Sendable, Hashable, CaseIterable {
    /// The request is canceled.
    case cancel = "Cancel"
    /// The request goes on without sign-on.
    case doNotHandle = "DoNotHandle"
}
