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
        if let reason = challengeReason(message) { return try Self.response(AuthorizeReply(outcome: .notHandled, reasons: [reason])) }
        switch try await outcome(of: authorization, context) {
        case .completed(let reply): return try Self.response(AuthorizeReply(outcome: .completed, reply: reply))
        case .notHandled(let reasons): return try Self.response(AuthorizeReply(outcome: .notHandled, reasons: reasons))
        case .headers(let grant):
            var reply = AuthorizeReply(outcome: .headers)
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
        let authorization = try Self.authorization(try document(AuthorizeRequest.self, of: context), context)
        let kerberos = context.served.kerberos
        let plan = try permittedPlan(for: authorization, context)
        if try heldBack(by: plan) != nil { return try Self.response(IdentityReply(nil)) }
        let identity = try await signingIn(for: authorization, plan) { () async throws(AuthorizationError) in
            guard authorization.isUserInterfaceEnabled else { return try await kerberos.identity(for: authorization) }
            return try await waiting.run(on: context.channel) { () async throws(AuthorizationError) in
                try await kerberos.identity(for: authorization)
            }
        }
        if let identity { try check(identity, plan, context) }
        return try Self.response(IdentityReply(identity))
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
            // The ticket may still be replaced.
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
        // Others may use a session; they can't have its user asked for one.
        if context.peer.userID != geteuid() { request.isUserInterfaceEnabled = false }
        return request
    }

    /// Why a challenge can't be answered; nil where it can, or where the caller has looked at it.
    private func challengeReason(_ message: AuthorizeRequest) -> DecisionReason? {
        guard let challenge = message.challenge else { return nil }
        switch NegotiateChallenge.find(in: [challenge]) {
        case .found(let found) where found.token == nil: return nil
        case .found: return DecisionReason(rule: "challenge", verdict: .failed, detail: "The first challenge carries a token already.")
        case .absent: return DecisionReason(rule: "challenge", verdict: .failed, detail: "The server does not ask for Negotiate.")
        case .malformed(let clause):
            return DecisionReason(rule: "challenge", verdict: .failed, detail: "The challenge can't be used: \(clause).")
        }
    }
}

extension HTTPFields {
    /// The fields by name.
    var wire: [String: String] { reduce(into: [:]) { $0[$1.name.rawName] = $1.value } }
}
