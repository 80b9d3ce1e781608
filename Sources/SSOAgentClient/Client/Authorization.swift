public import HTTPNegotiate
internal import HTTPTypes

internal import struct Foundation.Data

extension AgentClient {
    /// Answers a challenge with the agent's header fields, or performs the request's operation; see `CredentialExtension`.
    ///
    /// If no one is signed in and the request permits prompts (`isUserInterfaceEnabled`), an agent with a prompter prompts the user, once
    /// for all waiting requests. Otherwise the caller has to arrange a sign-in that requires a person.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        try await withFallback { () async throws(AuthorizationError) in
            let reply: AuthorizeReply = try await post(
                AgentPath.authorize,
                AuthorizeRequest(request),
                waitsForAPerson: request.isUserInterfaceEnabled
            )
            return try outcome(reply, for: request.challenger)
        } _: { fallback async throws(AuthorizationError) in
            try await fallback.beginAuthorization(with: request)
        }
    }

    /// Returns the identity that would answer a request now, without creating a token.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        try await withFallback { () async throws(AuthorizationError) in
            let reply: IdentityReply = try await post(
                AgentPath.identity,
                AuthorizeRequest(request),
                waitsForAPerson: request.isUserInterfaceEnabled
            )
            try check(reply.challenger, for: request.challenger)
            return reply.authorizationIdentity
        } _: { fallback async throws(AuthorizationError) in
            try await fallback.identity(for: request)
        }
    }

    /// Throws if the answer to a request for a proxy comes from an agent that does not know the field `challenger`: it answers as if an
    /// origin server had asked.
    private func check(_ answered: Challenger?, for asked: Challenger) throws(AuthorizationError) {
        guard asked != .origin, answered != asked else { return }
        let message =
            "\(socketPath): the agent is of an older version, which has no tickets for proxies. Stop it, so that the next start uses the "
            + "installed version: ksso agent stop"
        throw AuthorizationError(.agentUnavailable, message)
    }

    private func outcome(_ reply: AuthorizeReply, for challenger: Challenger) throws(AuthorizationError) -> AuthorizationOutcome {
        try check(reply.challenger, for: challenger)
        switch reply.outcome {
        case .completed: return .completed(reply.reply)
        case .notHandled: return .notHandled(reply.reasons ?? [])
        case .headers:
            guard let headers = reply.headers, let principal = reply.principal, let service = reply.servicePrincipal,
                let exchange = reply.exchange
            else {
                throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's response is incomplete. Restart the agent.")
            }
            return .headers(
                AuthorizationGrant(
                    headers: try HTTPFields(wire: headers),
                    identity: AuthorizationIdentity(principal, service, delegation: reply.delegation),
                    exchange: AgentExchange(client: self, id: exchange, isDelegated: reply.isDelegated ?? false)
                )
            )
        }
    }
}

/// A security context in the agent.
struct AgentExchange: AuthorizationExchange {
    let client: AgentClient
    let id: String
    let isDelegated: Bool

    func respond(to token: [UInt8]) async throws(AuthorizationError) -> AuthorizationExchangeStep {
        let reply: ContinueReply = try await client.post(AgentPath.authorize(id), ContinueRequest(token: Data(token)))
        switch reply.step {
        case .established: return .established
        case .send: return .send(try HTTPFields(wire: reply.headers ?? [:]))
        }
    }

    /// Returns false if the agent has dropped the exchange or does not support the operation.
    func replaceRefusedTicket() async -> Bool {
        let reply: RefusalReply? = try? await client.post(AgentPath.refusal(id), [String: String]())
        return reply?.isReplaced ?? false
    }
}
