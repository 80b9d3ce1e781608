/// How a challenge from an origin server or a proxy would be answered.
public struct AuthorizationPlan: Sendable, Hashable {
    /// The origin of the challenge; for a proxy, the address of the proxy itself.
    public let origin: Origin
    /// The sender of the challenge: the origin server or a proxy. A plan for one of them does not permit an answer to the other, even if
    /// they have the same name.
    public let challenger: Challenger
    /// The realm that the user is signed in to.
    public let realm: String
    /// The realm of the service, from `domainRealmMapping` or `ServicePrincipals`. Nil asks the user's KDC and follows its referrals.
    public let serviceRealm: String?
    /// The service principal to request a ticket for.
    ///
    /// It is `HTTP/host`, or the profile's entry for this origin, with `@REALM` if ``serviceRealm`` is known. The host is that of the URL,
    /// without its port: DNS does not change it.
    public let servicePrincipal: String
    /// Whether the server must authenticate itself.
    public let mutualAuthentication: MutualAuthentication
    /// Whether the user's ticket is delegated to the server.
    public let delegation: Delegation
    /// Whether a request may contain a ticket before the server challenges; never for a proxy.
    public let isPreemptive: Bool
    /// Whether the ticket is bound to the server's TLS certificate (RFC 5929); never for a proxy.
    public let bindsChannel: Bool
    /// The rule that covers the host: an entry of `Hosts`, or of `ProxyHosts` for a proxy.
    public let hostRule: HostRule
    /// The configuration of the rule.
    @inlinable public var configuration: ExtensionConfiguration { shared.value }
    @usableFromInline let shared: SharedConfiguration
    /// Every rule that was evaluated.
    public var reasons: [DecisionReason] { planReasons.all }
    private let planReasons: PlanReasons

    /// Creates a plan for an origin server or a proxy that a rule of a configuration covers.
    public init(
        origin: Origin,
        challenger: Challenger = .origin,
        hostRule: HostRule,
        configuration: ExtensionConfiguration,
        serviceRealm: String? = nil,
        reasons: [DecisionReason] = []
    ) {
        self.init(
            origin: origin,
            challenger: challenger,
            hostRule: hostRule,
            shared: SharedConfiguration([configuration], 0),
            serviceRealm: serviceRealm,
            reasons: PlanReasons(reasons, for: origin, challenger)
        )
    }

    init(
        origin: Origin,
        challenger: Challenger,
        hostRule: HostRule,
        shared: SharedConfiguration,
        serviceRealm: String?,
        reasons: PlanReasons
    ) {
        let configuration = shared.value
        self.origin = origin
        self.challenger = challenger
        realm = configuration.realm
        let named = configuration.servicePrincipals[origin]
        let service = named ?? "HTTP/\(origin.host)"
        if let sign = service.utf8.lastIndex(of: UInt8(ascii: "@")) {
            self.serviceRealm = String(service[service.utf8.index(after: sign)...])
            servicePrincipal = service
        } else {
            self.serviceRealm = serviceRealm
            servicePrincipal = service + (serviceRealm.map { "@\($0)" } ?? "")
        }
        mutualAuthentication = configuration.mutualAuthentication(for: origin.host, challenger).mutualAuthentication
        // The lists of what a server gets in addition are about the origin server of that name.
        let isProxy = challenger == .proxy
        delegation = isProxy ? .none : configuration.delegation(for: origin.host).delegation
        isPreemptive = !isProxy && configuration.preemptiveRule(for: origin.host) != nil
        bindsChannel = !isProxy && origin.scheme == .https && configuration.unboundRule(for: origin.host) == nil
        self.hostRule = hostRule
        self.shared = shared
        planReasons = reasons
    }

    /// Whether this policy, or an equal one, made the plan.
    package func isDecided(by policy: DecisionPolicy) -> Bool { planReasons.policy == policy }
}

/// A configuration in the array of its policy, so that each copy of a plan retains one object, not one for every value of the profile.
@usableFromInline struct SharedConfiguration: Sendable {
    @usableFromInline let all: [ExtensionConfiguration]
    /// The index of the configuration.
    @usableFromInline let position: Int

    init(_ all: [ExtensionConfiguration], _ position: Int) { (self.all, self.position) = (all, position) }

    @inlinable var value: ExtensionConfiguration { all[position] }
}

extension SharedConfiguration: Hashable {
    /// Whether the configurations are equal, whatever the others of their policies are.
    @usableFromInline static func == (left: Self, right: Self) -> Bool { left.value == right.value }

    @usableFromInline func hash(into hasher: inout Hasher) { hasher.combine(value) }
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
    ///
    /// A proxy need not send a proof: squid 5 creates one and drops it, and over plain http a proof would not show who answers anyway,
    /// because an attacker on the way can pass it on.
    func mutualAuthentication(
        for host: String,
        _ challenger: Challenger = .origin
    ) -> (mutualAuthentication: MutualAuthentication, rule: HostRule?) {
        if let rule = optionalMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.optional, rule) }
        if let rule = noMutualAuthenticationHosts.first(where: { $0.matches(host: host) }) { return (.off, rule) }
        return (challenger == .proxy ? .optional : .required, nil)
    }

    /// The rule of ``noChannelBindingHosts`` that covers a host.
    func unboundRule(for host: String) -> HostRule? { noChannelBindingHosts.first { $0.matches(host: host) } }
}

extension DecisionPolicy {
    /// How the host is answered: one reason for each setting, whether or not the profile lists the host.
    func settingReasons(_ origin: Origin, in configuration: ExtensionConfiguration) -> [DecisionReason] {
        [
            servicePrincipalReason(origin, in: configuration), channelBindingReason(origin, in: configuration),
            mutualAuthenticationReason(origin, in: configuration), delegationReason(origin, in: configuration),
            preemptiveReason(origin, in: configuration),
        ]
    }

    func servicePrincipalReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard let service = configuration.servicePrincipals[origin] else {
            let detail = "The service principal comes from the URL's host: ServicePrincipals has no entry for \(origin)."
            return DecisionReason(rule: "servicePrincipal", verdict: .notApplicable, detail: detail)
        }
        return DecisionReason(rule: "servicePrincipal", verdict: .passed, detail: "ServicePrincipals maps \(origin) to \(service).")
    }

    private func channelBindingReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard origin.scheme == .https else {
            let detail = "Without TLS there is no certificate to bind the ticket to."
            return DecisionReason(rule: "channelBinding", verdict: .notApplicable, detail: detail)
        }
        if let rule = configuration.unboundRule(for: origin.host) {
            let detail = "NoChannelBindingHosts has \(rule): the ticket is not bound to the server's certificate."
            return DecisionReason(rule: "channelBinding", verdict: .notApplicable, detail: detail)
        }
        return DecisionReason(rule: "channelBinding", verdict: .passed, detail: "The ticket is bound to the server's certificate.")
    }

    func mutualAuthenticationReason(
        _ origin: Origin,
        _ challenger: Challenger = .origin,
        in configuration: ExtensionConfiguration
    ) -> DecisionReason {
        let (mutual, rule) = configuration.mutualAuthentication(for: origin.host, challenger)
        guard let rule else {
            let detail =
                challenger == .origin
                ? "The server is verified (mutual authentication)."
                : "The proxy may omit the proof of mutual authentication, as most do; one that it sends must be valid."
            return DecisionReason(rule: "mutualAuthentication", verdict: .passed, detail: detail)
        }
        let detail =
            mutual == .optional
            ? "OptionalMutualAuthenticationHosts has \(rule): mutual authentication is optional for the \(challenger.noun)."
            : "NoMutualAuthenticationHosts has \(rule): mutual authentication is not requested."
        return DecisionReason(rule: "mutualAuthentication", verdict: .notApplicable, detail: detail)
    }

    private func delegationReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        let (delegation, rule) = configuration.delegation(for: origin.host)
        guard let rule else {
            let detail = "The user's own ticket is not forwarded: DelegationHosts does not cover \(origin.host)."
            return DecisionReason(rule: "delegation", verdict: .notApplicable, detail: detail)
        }
        let detail =
            delegation == .always
            ? "UnconditionalDelegationHosts has \(rule): the server gets the user's own ticket."
            : "DelegationHosts has \(rule): the server gets the user's own ticket if the KDC trusts it (ok-as-delegate)."
        return DecisionReason(rule: "delegation", verdict: .passed, detail: detail)
    }

    private func preemptiveReason(_ origin: Origin, in configuration: ExtensionConfiguration) -> DecisionReason {
        guard let rule = configuration.preemptiveRule(for: origin.host) else {
            let detail = "The first request carries no ticket: PreemptiveHosts does not cover \(origin.host)."
            return DecisionReason(rule: "preemptive", verdict: .notApplicable, detail: detail)
        }
        let detail = "PreemptiveHosts has \(rule): once the server has asked for a ticket, later requests carry one immediately."
        return DecisionReason(rule: "preemptive", verdict: .passed, detail: detail)
    }
}

/// The decision for an origin: whether a challenge is answered, and why.
public enum AuthorizationDecision: Sendable, Hashable {
    /// A challenge is answered according to this plan.
    case answer(AuthorizationPlan)
    /// A challenge is ignored, for these reasons.
    case ignore([DecisionReason])

    /// Every rule that was evaluated.
    public var reasons: [DecisionReason] {
        switch self {
        case .answer(let plan): plan.reasons
        case .ignore(let reasons): reasons
        }
    }

    /// The plan, if a challenge is answered.
    public var plan: AuthorizationPlan? {
        if case .answer(let plan) = self { plan } else { nil }
    }
}

/// The rules that were evaluated for a plan. They are sentences for users and not needed for a request, so they are created when they are
/// read.
struct PlanReasons: Sendable {
    private let origin: Origin
    private let challenger: Challenger
    /// Nil if the reasons were given.
    let policy: DecisionPolicy?
    private let given: [DecisionReason]

    init(_ policy: DecisionPolicy, for origin: Origin, _ challenger: Challenger) {
        (self.policy, self.origin, self.challenger, given) = (policy, origin, challenger, [])
    }

    init(_ given: [DecisionReason], for origin: Origin, _ challenger: Challenger) {
        (policy, self.origin, self.challenger, self.given) = (nil, origin, challenger, given)
    }

    var all: [DecisionReason] { policy?.reasonsToAnswer(origin, challenger) ?? given }
}

extension PlanReasons: Hashable {
    static func == (left: PlanReasons, right: PlanReasons) -> Bool { left.all == right.all }

    func hash(into hasher: inout Hasher) { hasher.combine(all) }
}

/// Whether the server must prove that it is the requested service.
public enum MutualAuthentication: String, Sendable, Hashable {
    /// After a challenge, a response to a ticket without a valid final token is an error. A page that the server sends without a challenge,
    /// even to a preemptive ticket, is delivered as not authenticated.
    case required
    /// A final token must be valid, but a response without one is accepted.
    case optional
    /// The server is not asked to authenticate itself, and its token is ignored.
    case off
}

/// Whether the user's ticket is delegated to the server, which can then act as the user.
public enum Delegation: String, Sendable, Hashable {
    /// Never.
    case none
    /// If the KDC trusts the service for delegation: its ticket has the flag `ok-as-delegate` (RFC 4120 section 2.8).
    case byPolicy
    /// Always, whatever the KDC says about the service.
    case always
}
