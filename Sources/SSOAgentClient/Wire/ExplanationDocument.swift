public import SignOnPolicy

internal import struct Foundation.URLComponents

/// The document that `ksso explain --json` prints and `GET /v1/explain` returns. Keys may be added, but never removed; absent values are
/// null.
public struct ExplanationDocument: Codable, Sendable, Hashable {
    /// The URL without its user and password.
    public var url: String
    /// `handled` or `notHandled`.
    public var outcome: String
    /// The realm that answers.
    public var realm: String?
    /// The principal that would answer.
    public var principal: String?
    /// The service principal of the ticket that would be used, whether cached or requested from the KDC.
    public var servicePrincipal: String?
    /// The rule that covers the host.
    public var hostRule: String?
    /// The profile that contains the rule.
    public var profile: String?
    /// Every rule considered, in order.
    public var reasons: [DecisionReason]

    /// Creates a document; without a plan the URL is not handled.
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

    /// Removes the user and the password from a URL, for use in messages.
    package static func withoutUser(_ url: String) -> String {
        guard var parts = URLComponents(string: url), parts.user != nil || parts.password != nil else { return url }
        parts.user = nil
        parts.password = nil
        return parts.string ?? "the URL"
    }

    /// Encodes absent values as null.
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
