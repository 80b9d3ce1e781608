public import HTTPNegotiate

/// Whether and how a challenge from a URL would be answered now, with every rule that was considered: the verdict for the URL, then
/// what the credential caches hold.
public struct Explanation: Sendable {
    /// The URL, as it was given.
    public let url: String
    /// The plan, when a rule covers the URL.
    public let plan: AuthorizationPlan?
    /// Who would answer; nil when nobody is signed in.
    public let principal: String?
    /// The service principal that a ticket is there for, else the one that would be asked for.
    public let servicePrincipal: String?
    /// Every rule considered, in order.
    public let reasons: [DecisionReason]

    /// Whether a rule covers the URL.
    public var isHandled: Bool { plan != nil }
}
