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
