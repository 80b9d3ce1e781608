internal import HTTPNegotiate
internal import HTTPTypes
internal import SignOnPolicy

internal import struct Foundation.URL

/// Answers an upstream proxy that asks for a ticket (407), for one request.
///
/// Only proxies that the profile names get a ticket: a PAC file, or DNS, can name any host as a proxy.
struct UpstreamAuthentication {
    enum Step: Sendable, Hashable {
        /// The response is for the client.
        case deliver
        /// Send the request again with this value of `Proxy-Authorization`.
        case send(String, onSameConnection: Bool)
        /// The proxy's 407 is not answered, for this reason.
        case unanswered(String)
    }

    /// Whether the profile names the proxy, so that the request may have to be sent twice.
    var isCovered: Bool { plan != nil }

    /// Whose ticket the proxy got last; nil if it got none.
    var identity: AuthorizationIdentity? { grant?.identity }

    private let server: ProxyServer
    private let url: URL?
    private let context: ProxyContext
    private let client: UInt32
    private let plan: AuthorizationPlan?
    private let refusals: [DecisionReason]
    private var exchange: NegotiateExchange
    private var grant: AuthorizationGrant?
    private var mayReplaceTicket = true

    /// - Parameters:
    ///   - client: The user who sent the request.
    ///   - opensTunnel: Whether the request is a CONNECT.
    init(_ server: ProxyServer, _ context: ProxyContext, client: UInt32, opensTunnel: Bool) {
        self.server = server
        self.context = context
        self.client = client
        url = URL(string: "http://\(server)")
        let decision = url.map { context.credentials.decision(for: $0, challenger: .proxy) }
        plan = decision?.plan
        refusals = decision?.reasons ?? []
        exchange = Self.exchange(opensTunnel, plan)
    }

    private static func exchange(_ opensTunnel: Bool, _ plan: AuthorizationPlan?) -> NegotiateExchange {
        NegotiateExchange(challenger: .proxy, opensTunnel: opensTunnel, mutualAuthentication: plan?.mutualAuthentication ?? .required)
    }

    /// Evaluates a response of the proxy.
    ///
    /// - Throws: ``ProxyFailure`` if the user cannot get a ticket or the proxy does not prove its identity.
    mutating func receive(_ response: ResponseHead) async throws -> Step {
        // Nothing of another answer to CONNECT is delivered, so that it needs no proof.
        if exchange.opensTunnel, response.status != Challenger.proxy.status, !(200..<300 ~= response.status) { return .deliver }
        var values = response.fields["Proxy-Authenticate"]
        if response.status != Challenger.proxy.status { values += response.fields["Proxy-Authentication-Info"] }
        do throws(AuthorizationError) {
            let action = exchange.receive(status: response.status, challenges: values)
            return try await perform(action, response)
        } catch {
            throw ProxyFailure(502, "The proxy \(server): \(error.message)")
        }
    }

    private mutating func perform(_ action: NegotiateExchange.Action, _ response: ResponseHead) async throws(AuthorizationError) -> Step {
        switch action {
        case .begin: return try await begin()
        case .respond(let token), .verify(let token): return try await respond(to: token, action, response)
        case .fail(let error): throw error
        case .deliver(.authenticated): return .deliver
        case .deliver(.unauthenticated):
            return response.status == Challenger.proxy.status ? .unanswered(Self.unsupported(response)) : .deliver
        case .deliver(.refused(let reason)):
            guard response.status == Challenger.proxy.status else { return .deliver }
            guard mayReplaceTicket, let grant, await grant.exchange.replaceRefusedTicket() else { return .unanswered(reason) }
            // The proxy's key may be newer than the ticket.
            mayReplaceTicket = false
            exchange = Self.exchange(exchange.opensTunnel, plan)
            _ = exchange.receive(status: response.status, challenges: ["Negotiate"])
            return try await begin()
        }
    }

    private mutating func begin() async throws(AuthorizationError) -> Step {
        guard let url, let plan else {
            _ = exchange.declined()
            let refusal = refusals.first { $0.verdict == .failed } ?? refusals.last
            return .unanswered(refusal?.detail ?? "ProxyHosts of the profile does not cover it.")
        }
        var request = AuthorizationRequest(
            url: url,
            challenger: .proxy,
            isUserInterfaceEnabled: context.mayPrompt(for: client)
        )
        request.plan = plan
        switch try await context.credentials.beginAuthorization(with: request) {
        case .headers(let grant):
            self.grant = grant
            return try step(grant.headers, onSameConnection: false)
        case .notHandled(let reasons): return .unanswered(reasons.last?.detail ?? "no ticket is available for it.")
        case .completed: return .unanswered("no ticket is available for it.")
        }
    }

    private mutating func respond(
        to token: [UInt8],
        _ action: NegotiateExchange.Action,
        _ response: ResponseHead
    ) async throws(AuthorizationError) -> Step {
        guard let grant else { throw AuthorizationError(.failed, "The exchange has no security context.") }
        let next: AuthorizationExchangeStep
        do throws(AuthorizationError) {
            next = try await grant.exchange.respond(to: token)
        } catch  where error.code == .mutualAuthenticationFailed {
            return try await perform(exchange.unproven(status: response.status), response)
        } catch  where error.code == .refusedByServer && response.status == Challenger.proxy.status {
            return .unanswered(error.message)
        }
        switch next {
        case .established: return try await perform(exchange.verified(), response)
        case .send(let fields):
            guard case .respond = action else {
                let message = "It responded before the exchange was complete. Report it to its administrator."
                throw AuthorizationError(.invalidResponse, message)
            }
            return try step(fields, onSameConnection: true)
        }
    }

    private mutating func step(_ fields: HTTPFields, onSameConnection: Bool) throws(AuthorizationError) -> Step {
        guard let value = fields[.proxyAuthorization] else {
            throw AuthorizationError(.failed, "The ticket is not for a proxy. Update the agent.")
        }
        exchange.sent(fieldSize: value.utf8.count)
        return .send(value, onSameConnection: onSameConnection)
    }

    private static func unsupported(_ response: ResponseHead) -> String {
        let schemes = AuthenticationChallenge.parse(response.fields["Proxy-Authenticate"]).prefix(4).map { String($0.scheme.prefix(40)) }
        guard !schemes.isEmpty else { return "it asks for authentication without naming a scheme." }
        return "it asks for \(schemes.joined(separator: ", ")), and only Negotiate is supported."
    }
}

extension ProxyFailure {
    /// A 407 that was not answered, and is not forwarded, because the client would send its own password.
    init(unanswered reason: String, by server: ProxyServer) {
        self.init(502, "The proxy \(server) asks for authentication (407) and gets no ticket: \(reason)")
    }
}
