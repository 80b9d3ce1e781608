internal import HTTPNegotiate
internal import KCM
internal import KerberosEngine
internal import SSOAgentClient

extension AgentAPI {
    /// What a request gets, whichever route it came by: it must be the caller's to make, the screen's lock has its say, and whose tickets
    /// it used is noted.
    ///
    /// - Throws: `AgentProblem` for a caller who may not ask this, `AuthorizationError`.
    func outcome(of request: AuthorizationRequest, _ context: AgentContext) async throws -> AuthorizationOutcome {
        let kerberos = context.served.kerberos
        let plan = try permittedPlan(for: request, context)
        let request = request.asked(by: context.peer.userID, of: context.served.access.owner)
        if let reason = try heldBack(by: plan) { return .notHandled([reason]) }
        let outcome = try await signingIn(for: request, plan) { () async throws(AuthorizationError) in
            guard request.isUserInterfaceEnabled else { return try await kerberos.beginAuthorization(with: request) }
            return try await waiting.run(on: context.channel) { () async throws(AuthorizationError) in
                try await kerberos.beginAuthorization(with: request)
            }
        }
        if case .headers(let grant) = outcome {
            try check(grant.identity, plan, context)
            used(grant.principal)
        }
        return outcome
    }

    /// How the URL is answered; nil where no rule covers it. Throws unless the caller may ask for it.
    func permittedPlan(for request: AuthorizationRequest, _ context: AgentContext) throws(AgentProblem) -> AuthorizationPlan? {
        let plan = context.served.kerberos.decision(for: request.url).plan
        let served = context.served
        try served.access.check(context.peer, for: request, plan: plan, in: served.kerberos.policy.configurations)
        return plan
    }

    /// Throws unless the caller may use the tickets of the principal that answers: which one that is may depend on the caches alone
    /// (`credentialUseMode`).
    func check(_ identity: AuthorizationIdentity, _ plan: AuthorizationPlan?, _ context: AgentContext) throws(AgentProblem) {
        guard let plan else { return }
        let served = context.served
        try served.access.check(context.peer, answersAs: identity.principal, plan: plan, in: served.kerberos.policy.configurations)
    }

    /// Who finds nobody signed in waits for the agent's own sign-in, where that is the one that is needed, and asks again.
    func signingIn<Answer>(
        for request: AuthorizationRequest,
        _ plan: AuthorizationPlan?,
        _ ask: () async throws(AuthorizationError) -> Answer
    ) async throws(AuthorizationError) -> Answer {
        do throws(AuthorizationError) {
            return try await ask()
        } catch {
            guard error.code == .notSignedIn, request.operation != .logout, let plan else { throw error }
            guard await signsIn(plan.realm, request.principal ?? plan.configuration.principalName) else { throw error }
            return try await ask()
        }
    }
}

extension AuthorizationRequest {
    /// The same as a guest's, if that is whose it is.
    fileprivate func asked(by user: UInt32, of owner: UInt32) -> AuthorizationRequest {
        var request = self
        if user != owner { request.guest = user }
        return request
    }
}
