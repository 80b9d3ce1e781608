/// One rule that was considered on the way to a verdict.
public struct DecisionReason: Sendable, Hashable, Codable {
    /// What the rule said.
    public enum Verdict: String, Sendable, Hashable, Codable {
        /// The rule lets the request through.
        case passed
        /// The rule stops the request.
        case failed
        /// The rule has no say here.
        case notApplicable
    }

    /// A short stable name: `url`, `scheme`, `address`, `hostRule`, `serviceRealm`, `servicePrincipal`, `channelBinding`,
    /// `mutualAuthentication`, `delegation`, `preemptive`, `session`, `ticket`, `kdc`, `credentialUseMode`.
    public let rule: String
    /// What the rule said.
    public let verdict: Verdict
    /// A sentence for people.
    public let detail: String

    /// Makes a reason.
    public init(rule: String, verdict: Verdict, detail: String) {
        self.rule = rule
        self.verdict = verdict
        self.detail = detail
    }
}
