/// How a challenge from an origin would be answered.
public struct AuthorizationPlan: Sendable, Hashable {
    /// Where the challenge comes from.
    public let origin: Origin
    /// The realm that the user is signed in to.
    public let realm: String
    /// The realm of the service, by `domainRealmMapping` or the profile's own service principal. Nil: ask the user's KDC, and follow its
    /// referrals.
    public let serviceRealm: String?
    /// The service principal that a ticket is asked for.
    ///
    /// It is `HTTP/host`, or what the profile names for this origin alone; with `@REALM` when ``serviceRealm`` is known. The host is the
    /// URL's, without its port: DNS has no say in it.
    public let servicePrincipal: String
    /// Whether the server must prove itself.
    public let mutualAuthentication: MutualAuthentication
    /// Whether the server gets the user's own ticket.
    public let delegation: Delegation
    /// Whether a request may carry a ticket before the server asks for it.
    public let isPreemptive: Bool
    /// Whether the ticket is bound to the server's TLS certificate (RFC 5929).
    public let bindsChannel: Bool
    /// The rule that covers the host.
    public let hostRule: HostRule
    /// The configuration that the rule stands in.
    public let configuration: ExtensionConfiguration
    /// Every rule that was considered.
    public var reasons: [DecisionReason] { planReasons.all }
    private let planReasons: PlanReasons

    /// Makes a plan for an origin that a rule of a configuration covers.
    public init(
        origin: Origin,
        hostRule: HostRule,
        configuration: ExtensionConfiguration,
        serviceRealm: String? = nil,
        reasons: [DecisionReason] = []
    ) {
        self.init(
            origin: origin,
            hostRule: hostRule,
            configuration: configuration,
            serviceRealm: serviceRealm,
            reasons: PlanReasons(reasons, for: origin)
        )
    }

    init(
        origin: Origin,
        hostRule: HostRule,
        configuration: ExtensionConfiguration,
        serviceRealm: String?,
        reasons: PlanReasons
    ) {
        self.origin = origin
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
        mutualAuthentication = configuration.mutualAuthentication(for: origin.host).mutualAuthentication
        delegation = configuration.delegation(for: origin.host).delegation
        isPreemptive = configuration.preemptiveRule(for: origin.host) != nil
        bindsChannel = origin.scheme == .https && configuration.unboundRule(for: origin.host) == nil
        self.hostRule = hostRule
        self.configuration = configuration
        planReasons = reasons
    }
}

/// The verdict for an origin: would a challenge be answered, and why.
public enum AuthorizationDecision: Sendable, Hashable {
    /// It would, so.
    case answer(AuthorizationPlan)
    /// It would not, for these reasons.
    case ignore([DecisionReason])

    /// Every rule that was considered.
    public var reasons: [DecisionReason] {
        switch self {
        case .answer(let plan): plan.reasons
        case .ignore(let reasons): reasons
        }
    }

    /// The plan, if a challenge would be answered.
    public var plan: AuthorizationPlan? {
        if case .answer(let plan) = self { plan } else { nil }
    }
}

/// The rules that were considered for a plan. They are sentences for people and of no use to a request, so they are written when they are
/// read.
struct PlanReasons: Sendable {
    private let origin: Origin
    /// Nil where the reasons were given.
    private let policy: DecisionPolicy?
    private let given: [DecisionReason]

    init(_ policy: DecisionPolicy, for origin: Origin) { (self.policy, self.origin, given) = (policy, origin, []) }

    init(_ given: [DecisionReason], for origin: Origin) { (policy, self.origin, self.given) = (nil, origin, given) }

    var all: [DecisionReason] { policy?.reasonsToAnswer(origin) ?? given }
}

extension PlanReasons: Hashable {
    static func == (left: PlanReasons, right: PlanReasons) -> Bool { left.all == right.all }

    func hash(into hasher: inout Hasher) { hasher.combine(all) }
}

/// Whether the server must prove that it is the service that was asked for.
public enum MutualAuthentication: String, Sendable, Hashable {
    /// A response to a ticket that the server asked for, without a final token that verifies, is an error. A page that it gives to
    /// everybody, without asking or whatever ticket came unasked, is handed on as not authenticated.
    case required
    /// A final token is verified where there is one; a response without it is taken as it comes.
    case optional
    /// The server is not asked to prove itself, and a token that it sends is not looked at.
    case off
}

/// Whether the server gets the user's own ticket, to act as the user elsewhere.
public enum Delegation: String, Sendable, Hashable {
    /// Never.
    case none
    /// Where the KDC vouches for the service: its ticket has the flag `ok-as-delegate` (RFC 4120 section 2.8).
    case byPolicy
    /// Whatever the KDC says of the service.
    case always
}
