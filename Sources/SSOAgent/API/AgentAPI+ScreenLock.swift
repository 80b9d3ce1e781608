internal import HTTPNegotiate

extension AgentAPI {
    /// Why a request is not handled while the screen is locked; nil where it is.
    ///
    /// - Throws: `AuthorizationError` where the profile cancels it.
    func heldBack(by plan: AuthorizationPlan?) throws(AuthorizationError) -> DecisionReason? {
        guard let reason = lockReason(for: plan) else { return nil }
        guard plan?.configuration.screenLockedBehavior != .cancel else { throw AuthorizationError(.canceled, reason.detail) }
        return reason
    }

    /// Why the screen's lock keeps a request from its ticket; nil where it does not.
    func lockReason(for plan: AuthorizationPlan?) -> DecisionReason? {
        guard let behavior = plan?.configuration.screenLockedBehavior, isScreenLocked() else { return nil }
        let detail =
            switch behavior {
            case .cancel: "The screen is locked, and the profile cancels requests meanwhile. Unlock it."
            case .doNotHandle: "The screen is locked; the profile handles no requests then."
            }
        return DecisionReason(rule: "screenLock", verdict: .failed, detail: detail)
    }
}
