/// How a challenge from an origin would be answered.
public struct AuthorizationPlan: Sendable, Hashable {
    /// Where the challenge comes from.
    public let origin: Origin
    /// The realm that the user is signed in to.
    public let realm: String
    /// The realm of the service, by `domainRealmMapping`. Nil: ask the user's KDC, and follow its referrals.
    public let serviceRealm: String?
    /// The service principal that a ticket is asked for.
    ///
    /// It is `HTTP/host`, with `@REALM` when ``serviceRealm`` is known. The host is the URL's: DNS has no say in it.
    public let servicePrincipal: String
    /// The rule that covers the host.
    public let hostRule: HostRule
    /// The configuration that the rule stands in.
    public let configuration: ExtensionConfiguration
    /// Every rule that was considered.
    public let reasons: [DecisionReason]

    /// Makes a plan for an origin that a rule of a configuration covers.
    public init(
        origin: Origin,
        hostRule: HostRule,
        configuration: ExtensionConfiguration,
        serviceRealm: String? = nil,
        reasons: [DecisionReason] = []
    ) {
        self.origin = origin
        realm = configuration.realm
        self.serviceRealm = serviceRealm
        servicePrincipal = "HTTP/\(origin.host)" + (serviceRealm.map { "@\($0)" } ?? "")
        self.hostRule = hostRule
        self.configuration = configuration
        self.reasons = reasons
    }
}
