internal import Foundation
internal import HTTPNegotiate
internal import HTTPTypes
internal import Hummingbird
internal import KCM
internal import KerberosEngine
internal import SSOAgentClient

extension AgentAPI {
    /// `POST /v1/authorize`
    func authorize(_ request: Request, _ context: AgentContext) async throws -> Response {
        let message = try document(AuthorizeRequest.self, of: context)
        let authorization = try Self.authorization(message, context)
        let challenger = authorization.challenger
        if let reason = challengeReason(message, challenger) {
            return try Self.response(AuthorizeReply(outcome: .notHandled, challenger: challenger, reasons: [reason]))
        }
        switch try await outcome(of: authorization, context) {
        case .completed(let reply):
            return try Self.response(AuthorizeReply(outcome: .completed, challenger: challenger, reply: reply))
        case .notHandled(let reasons):
            return try Self.response(AuthorizeReply(outcome: .notHandled, challenger: challenger, reasons: reasons))
        case .headers(let grant):
            var reply = AuthorizeReply(outcome: .headers, challenger: challenger)
            reply.headers = grant.headers.wire
            reply.principal = grant.principal
            reply.servicePrincipal = grant.servicePrincipal
            reply.delegation = grant.identity.delegation.rawValue
            reply.isDelegated = grant.exchange.isDelegated
            if message.keepsExchange != false {
                reply.exchange = exchanges.insert(grant.exchange, principal: grant.principal, user: context.peer.userID)
            }
            return try Self.response(reply)
        }
    }

    /// `POST /v1/identity`
    func identity(_ request: Request, _ context: AgentContext) async throws -> Response {
        let message = try Self.authorization(try document(AuthorizeRequest.self, of: context), context)
        let kerberos = context.served.kerberos
        let plan = try permittedPlan(for: message, context)
        let authorization = message.asked(by: context.peer.userID, of: context.served.access.owner, plan)
        if try lockedScreenReason(for: plan) != nil { return try Self.response(IdentityReply(nil, challenger: message.challenger)) }
        let identity = try await signingIn(for: authorization, plan) { () async throws(AuthorizationError) in
            guard authorization.isUserInterfaceEnabled else { return try await kerberos.identity(for: authorization) }
            return try await waiting.run(on: context.channel) { () async throws(AuthorizationError) in
                try await kerberos.identity(for: authorization)
            }
        }
        if let identity { try check(identity, plan, context) }
        return try Self.response(IdentityReply(identity, challenger: message.challenger))
    }

    /// `POST /v1/authorize/{exchange}`
    func continueExchange(_ request: Request, _ context: AgentContext) async throws -> Response {
        let message = try document(ContinueRequest.self, of: context)
        let id = try context.parameters.require("exchange")
        guard let (exchange, principal) = exchanges.take(id, user: context.peer.userID) else { throw AgentProblem.unknownExchange }
        let step: AuthorizationExchangeStep
        do throws(AuthorizationError) {
            step = try await exchange.respond(to: Array(message.token))
        } catch {
            // The refused ticket may still be replaced.
            if error.code == .refusedByServer {
                exchanges.putBack(exchange, principal: principal, id: id, user: context.peer.userID)
            }
            throw error
        }
        switch step {
        case .established: return try Self.response(ContinueReply(step: .established))
        case .send(let headers):
            exchanges.putBack(exchange, principal: principal, id: id, user: context.peer.userID)
            return try Self.response(ContinueReply(step: .send, headers: headers.wire))
        }
    }

    /// `DELETE /v1/authorize/{exchange}`
    func endExchange(_ request: Request, _ context: AgentContext) async throws -> Response {
        let id = try context.parameters.require("exchange")
        guard exchanges.take(id, user: context.peer.userID) != nil else { throw AgentProblem.unknownExchange }
        return Response(status: .noContent)
    }

    /// `POST /v1/authorize/{exchange}/refusal`
    func replaceRefusedTicket(_ request: Request, _ context: AgentContext) async throws -> Response {
        let id = try context.parameters.require("exchange")
        guard let (exchange, _) = exchanges.take(id, user: context.peer.userID) else { throw AgentProblem.unknownExchange }
        return try Self.response(RefusalReply(isReplaced: await exchange.replaceRefusedTicket()))
    }

    /// `GET /v1/configuration`
    func configuration(_ request: Request, _ context: AgentContext) async throws -> Response {
        let served = context.served
        let configurations = try served.access.visible(served.kerberos.policy.configurations, to: context.peer)
        return try Self.response(ConfigurationReply(version: served.version, configurations: configurations))
    }

    private static func authorization(_ message: AuthorizeRequest, _ context: AgentContext) throws -> AuthorizationRequest {
        var request = try message.authorizationRequest()
        // Other users may use a session, but they cannot cause a prompt.
        if context.peer.userID != geteuid() { request.isUserInterfaceEnabled = false }
        return request
    }

    /// Returns why a challenge cannot be answered; nil if it can, or if the caller sent none because it has checked the challenge itself.
    private func challengeReason(_ message: AuthorizeRequest, _ challenger: Challenger) -> DecisionReason? {
        guard let challenge = message.challenge else { return nil }
        switch NegotiateChallenge.find(in: [challenge]) {
        case .found(let found) where found.token == nil: return nil
        case .found: return DecisionReason(rule: "challenge", verdict: .failed, detail: "The first challenge already carries a token.")
        case .absent:
            return DecisionReason(rule: "challenge", verdict: .failed, detail: "The \(challenger.noun) does not ask for Negotiate.")
        case .malformed(let clause):
            return DecisionReason(rule: "challenge", verdict: .failed, detail: "The challenge cannot be used: \(clause).")
        }
    }
}

extension HTTPFields {
    /// The header fields as a dictionary.
    var wire: [String: String] { reduce(into: [:]) { $0[$1.name.rawName] = $1.value } }
}

extension AgentAPI {
    /// Performs an authorization request for any route: checks that the caller may make it, applies the screen lock's rule, and records the
    /// use of the principal's tickets.
    ///
    /// - Throws: `AgentProblem` if the caller may not make the request, or `AuthorizationError`.
    func outcome(of request: AuthorizationRequest, _ context: AgentContext) async throws -> AuthorizationOutcome {
        let kerberos = context.served.kerberos
        let plan = try permittedPlan(for: request, context)
        let request = request.asked(by: context.peer.userID, of: context.served.access.owner, plan)
        if let reason = try lockedScreenReason(for: plan) { return .notHandled([reason]) }
        let outcome = try await signingIn(for: request, plan) { () async throws(AuthorizationError) in
            guard request.isUserInterfaceEnabled else { return try await kerberos.beginAuthorization(with: request) }
            return try await waiting.run(on: context.channel) { () async throws(AuthorizationError) in
                try await kerberos.beginAuthorization(with: request)
            }
        }
        if case .headers(let grant) = outcome {
            try check(grant.identity, plan, context)
            delegate.noteUse(of: grant.principal)
        }
        return outcome
    }

    /// Returns the plan that answers the URL, or nil if no rule covers it. Throws unless the caller may make the request.
    func permittedPlan(for request: AuthorizationRequest, _ context: AgentContext) throws(AgentProblem) -> AuthorizationPlan? {
        let plan = context.served.kerberos.decision(for: request.url, challenger: request.challenger).plan
        let served = context.served
        try served.access.check(context.peer, for: request, plan: plan, in: served.kerberos.policy.configurations)
        return plan
    }

    /// Throws unless the caller may use the tickets of the principal that answers. With `credentialUseMode`, only the caches decide which
    /// principal that is.
    func check(_ identity: AuthorizationIdentity, _ plan: AuthorizationPlan?, _ context: AgentContext) throws(AgentProblem) {
        guard let plan else { return }
        let served = context.served
        try served.access.check(context.peer, answersAs: identity.principal, plan: plan, in: served.kerberos.policy.configurations)
    }

    /// If no session exists while the agent can sign in with its own keytab, the request waits for that sign-in and is retried once.
    func signingIn<Answer>(
        for request: AuthorizationRequest,
        _ plan: AuthorizationPlan?,
        _ ask: () async throws(AuthorizationError) -> Answer
    ) async throws(AuthorizationError) -> Answer {
        do throws(AuthorizationError) {
            return try await ask()
        } catch {
            guard error.code == .notSignedIn, request.operation != .logout, let plan else { throw error }
            guard await delegate.hasSignedIn(realm: plan.realm, principal: request.principal ?? plan.configuration.principalName) else {
                throw error
            }
            return try await ask()
        }
    }
}

extension AuthorizationRequest {
    /// Returns a copy that carries the agent's decision, and is marked as another user's request if the user is not the owner.
    fileprivate func asked(by user: UInt32, of owner: UInt32, _ plan: AuthorizationPlan?) -> AuthorizationRequest {
        var request = self
        request.plan = plan
        if user != owner { request.guest = user }
        return request
    }
}

extension AgentAPI {
    /// Returns why a request is not handled while the screen is locked; nil if it is handled.
    ///
    /// - Throws: `AuthorizationError` if the profile cancels the request.
    func lockedScreenReason(for plan: AuthorizationPlan?) throws(AuthorizationError) -> DecisionReason? {
        guard let reason = lockReason(for: plan) else { return nil }
        guard plan?.configuration.screenLockedBehavior != .cancel else { throw AuthorizationError(.canceled, reason.detail) }
        return reason
    }

    /// Returns why the locked screen prevents a request; nil if it does not.
    func lockReason(for plan: AuthorizationPlan?) -> DecisionReason? {
        guard let behavior = plan?.configuration.screenLockedBehavior, delegate.isScreenLocked else { return nil }
        let detail =
            switch behavior {
            case .cancel: "The screen is locked, and the profile cancels requests while it is. Unlock it."
            case .doNotHandle: "The screen is locked, and the profile ignores requests while it is. Unlock it."
            }
        return DecisionReason(rule: "screenLock", verdict: .failed, detail: detail)
    }
}
