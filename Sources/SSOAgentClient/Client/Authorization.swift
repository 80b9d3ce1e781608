public import HTTPNegotiate
internal import HTTPTypes

internal import struct Foundation.Data

extension AgentClient {
    /// Answers a challenge with the agent's header, or carries out the operation; see `CredentialExtension`.
    ///
    /// Where nobody is signed in and the request may ask (`isUserInterfaceEnabled`), an agent that has a prompter asks whoever sits at the
    /// machine, once for all who wait; else a sign-in that needs a person is the caller's affair.
    public func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome {
        try await withFallback { () async throws(AuthorizationError) in
            let reply: AuthorizeReply = try await post(
                AgentPath.authorize,
                AuthorizeRequest(request),
                waitsForAPerson: request.isUserInterfaceEnabled
            )
            return try outcome(reply)
        } _: { fallback async throws(AuthorizationError) in
            try await fallback.beginAuthorization(with: request)
        }
    }

    /// Who would answer a request now, without making a token.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? {
        try await withFallback { () async throws(AuthorizationError) in
            let reply: IdentityReply = try await post(
                AgentPath.identity,
                AuthorizeRequest(request),
                waitsForAPerson: request.isUserInterfaceEnabled
            )
            return reply.authorizationIdentity
        } _: { fallback async throws(AuthorizationError) in
            try await fallback.identity(for: request)
        }
    }

    private func outcome(_ reply: AuthorizeReply) throws(AuthorizationError) -> AuthorizationOutcome {
        switch reply.outcome {
        case .completed: return .completed(reply.reply)
        case .notHandled: return .notHandled(reply.reasons ?? [])
        case .headers:
            guard let headers = reply.headers, let principal = reply.principal, let service = reply.servicePrincipal,
                let exchange = reply.exchange
            else {
                throw AuthorizationError(.agentUnavailable, "\(socketPath): the agent's answer lacks a part. Start it anew.")
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

extension HTTPFields {
    /// Fields from the wire, marked so that no HTTP/2 peer puts them into its compression table.
    init(wire: [String: String]) throws(AuthorizationError) {
        self.init()
        for (name, value) in wire {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                throw AuthorizationError(.agentUnavailable, "The agent's answer has a header field that is none. Start it anew.")
            }
            var field = HTTPField(name: name, value: value)
            field.indexingStrategy = .disallow
            append(field)
        }
    }
}

/// A security context that the agent keeps.
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

    /// An agent that has dropped the exchange, or does not know the operation, replaces nothing.
    func replaceRefusedTicket() async -> Bool {
        let reply: RefusalReply? = try? await client.post(AgentPath.refusal(id), [String: String]())
        return reply?.isReplaced ?? false
    }
}
