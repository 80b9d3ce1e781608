internal import HTTPNegotiate
internal import HTTPTypes

internal import struct Foundation.Data

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
