internal import HTTPNegotiate

extension AgentAPI {
    /// Why a request is not handled while the screen is locked; nil where it is.
    ///
    /// - Throws: `AuthorizationError` where the profile cancels it.
    func lockReason(for plan: AuthorizationPlan?) throws(AuthorizationError) -> DecisionReason? {
        guard let behavior = plan?.configuration.screenLockedBehavior, isScreenLocked() else { return nil }
        switch behavior {
        case .cancel: throw AuthorizationError(.canceled, "The screen is locked, and the profile cancels requests meanwhile. Unlock it.")
        case .doNotHandle:
            return DecisionReason(
                rule: "screenLock",
                verdict: .failed,
                detail: "The screen is locked; the profile handles no requests then."
            )
        }
    }
}
