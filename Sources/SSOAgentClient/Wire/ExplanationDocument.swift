public import HTTPNegotiate

internal import struct Foundation.URLComponents

/// What `ksso explain --json` prints and `GET /v1/explain` answers. Keys are only ever added; what is absent is null.
public struct ExplanationDocument: Codable, Sendable, Hashable {
    /// The URL, without a user and a password in it.
    public var url: String
    /// `handled` or `notHandled`.
    public var outcome: String
    /// The realm that answers.
    public var realm: String?
    /// Who would answer.
    public var principal: String?
    /// The service principal that a ticket is there for, or would be asked for.
    public var servicePrincipal: String?
    /// The rule that covers the host.
    public var hostRule: String?
    /// The profile that the rule stands in.
    public var profile: String?
    /// Every rule considered, in order.
    public var reasons: [DecisionReason]

    /// Makes a document; without a plan the URL is not handled.
    public init(url: String, plan: AuthorizationPlan?, principal: String?, servicePrincipal: String?, reasons: [DecisionReason]) {
        self.url = Self.withoutUser(url)
        outcome = plan == nil ? "notHandled" : "handled"
        realm = plan?.realm
        self.principal = principal
        self.servicePrincipal = servicePrincipal
        hostRule = plan?.hostRule.description
        profile = plan?.configuration.source
        self.reasons = reasons
    }

    /// A URL for a message: without the user and the password that it may hold.
    package static func withoutUser(_ url: String) -> String {
        guard var parts = URLComponents(string: url), parts.user != nil || parts.password != nil else { return url }
        parts.user = nil
        parts.password = nil
        return parts.string ?? "the URL"
    }

    /// Writes null for what is absent.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url, forKey: .url)
        try container.encode(outcome, forKey: .outcome)
        try container.encode(realm, forKey: .realm)
        try container.encode(principal, forKey: .principal)
        try container.encode(servicePrincipal, forKey: .servicePrincipal)
        try container.encode(hostRule, forKey: .hostRule)
        try container.encode(profile, forKey: .profile)
        try container.encode(reasons, forKey: .reasons)
    }
}
