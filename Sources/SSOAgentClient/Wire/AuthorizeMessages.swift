package import Foundation
package import HTTPNegotiate
internal import HTTPTypes

/// The body of `POST /v1/authorize` and `POST /v1/identity`.
package struct AuthorizeRequest: Codable, Sendable, Hashable {
    /// The URL that sent the challenge; for a proxy, `http://` and the address of the proxy itself.
    package var url: String
    /// `origin` or `proxy`: who sent the challenge; nil means `origin`.
    package var challenger: String?
    /// The operation; nil means `implicit`.
    package var operation: String?
    /// The server's `WWW-Authenticate` field, or the proxy's `Proxy-Authenticate` field; nil if the caller has checked it.
    package var challenge: String?
    /// The principal that answers; nil leaves the choice to the agent.
    package var principal: String?
    /// The channel bindings of the connection (RFC 5929).
    package var channelBindings: Data?
    /// `required`, `optional` or `off`; nil means the profile's setting.
    package var mutualAuthentication: String?
    /// Options for a custom extension.
    package var options: [String: String]?
    /// False if the caller does not verify the server's final token, so that no exchange is stored for it.
    package var keepsExchange: Bool?
    /// True if the agent may prompt the user to sign in.
    package var mayAsk: Bool?

    package init(
        url: String,
        challenger: String? = nil,
        operation: String? = nil,
        challenge: String? = nil,
        principal: String? = nil,
        channelBindings: Data? = nil,
        mutualAuthentication: String? = nil,
        options: [String: String]? = nil,
        keepsExchange: Bool? = nil,
        mayAsk: Bool? = nil
    ) {
        self.url = url
        self.challenger = challenger
        self.operation = operation
        self.challenge = challenge
        self.principal = principal
        self.channelBindings = channelBindings
        self.mutualAuthentication = mutualAuthentication
        self.options = options
        self.keepsExchange = keepsExchange
        self.mayAsk = mayAsk
    }

    /// Converts a client's request. The header fields of the challenged request are not sent, because the agent does not need them.
    package init(_ request: AuthorizationRequest) {
        self.init(
            url: request.url.absoluteString,
            challenger: request.challenger == .origin ? nil : request.challenger.rawValue,
            operation: request.operation == .implicit ? nil : request.operation.rawValue,
            principal: request.principal,
            channelBindings: request.channelBindings.map { Data($0) },
            mutualAuthentication: request.mutualAuthentication?.rawValue,
            options: request.options.isEmpty ? nil : request.options,
            mayAsk: request.isUserInterfaceEnabled ? true : nil
        )
    }

    /// Converts the message to a request for the agent's extension.
    ///
    /// - Throws: `AuthorizationError`: `invalidURL`, or `failed` for an unknown value of ``challenger`` or ``mutualAuthentication``.
    package func authorizationRequest() throws(AuthorizationError) -> AuthorizationRequest {
        _ = try Origin(url: url)
        guard let url = URL(string: self.url) else {
            throw AuthorizationError(.invalidURL, "\(self.url.debugDescription) is not a valid URL. Percent-encode it.")
        }
        var request = AuthorizationRequest(url: url, operation: operation.map { .init(rawValue: $0) } ?? .implicit)
        if let challenger {
            guard let known = Challenger(rawValue: challenger) else {
                throw AuthorizationError(.failed, "challenger must be origin or proxy.")
            }
            request.challenger = known
        }
        if let mutualAuthentication {
            guard let choice = MutualAuthentication(rawValue: mutualAuthentication) else {
                throw AuthorizationError(.failed, "mutualAuthentication must be required, optional or off.")
            }
            request.mutualAuthentication = choice
        }
        if let challenge { request.headers[request.challenger.challengeField] = challenge }
        request.principal = principal
        request.channelBindings = channelBindings.map { Array($0) }
        request.options = options ?? [:]
        request.isUserInterfaceEnabled = mayAsk ?? false
        return request
    }
}

/// The response to `POST /v1/authorize`.
package struct AuthorizeReply: Codable, Sendable {
    /// The outcome of the request.
    package enum Outcome: String, Codable, Sendable {
        case headers, completed, notHandled
    }

    /// The outcome of the request.
    package var outcome: Outcome
    /// `proxy` if the request was for a proxy; nil for an origin server, and from an agent that knows no proxies.
    package var challenger: Challenger?
    /// The header fields to add to the HTTP request.
    package var headers: [String: String]?
    /// The principal that answers.
    package var principal: String?
    /// The service principal of the ticket.
    package var servicePrincipal: String?
    /// The profile's delegation policy: `none`, `byPolicy` or `always`.
    package var delegation: String?
    /// Whether the user's credentials are delegated to the server.
    package var isDelegated: Bool?
    /// The ID of the exchange for the server's token. It is valid for two minutes and only for the caller's user.
    package var exchange: String?
    /// Why the request was not handled.
    package var reasons: [DecisionReason]?
    /// The session after a sign-in or a refresh.
    package var reply: AuthorizationReply?

    package init(
        outcome: Outcome,
        challenger: Challenger = .origin,
        reasons: [DecisionReason]? = nil,
        reply: AuthorizationReply? = nil
    ) {
        self.outcome = outcome
        self.challenger = challenger == .origin ? nil : challenger
        self.reply = reply
        self.reasons = reasons
    }
}

/// The response to `POST /v1/identity`.
package struct IdentityReply: Codable, Sendable {
    /// The principal that answers, and the service principal.
    package struct Identity: Codable, Sendable {
        package var principal: String
        package var servicePrincipal: String
        package var delegation: String
    }

    /// Nil if the request would not be answered.
    package var identity: Identity?
    /// `proxy` if the request was for a proxy; nil for an origin server, and from an agent that knows no proxies.
    package var challenger: Challenger?

    package init(_ identity: AuthorizationIdentity?, challenger: Challenger = .origin) {
        self.challenger = challenger == .origin ? nil : challenger
        self.identity = identity.map {
            Identity(principal: $0.principal, servicePrincipal: $0.servicePrincipal, delegation: $0.delegation.rawValue)
        }
    }

    /// The identity as `CredentialExtension` returns it.
    package var authorizationIdentity: AuthorizationIdentity? {
        identity.map { AuthorizationIdentity($0.principal, $0.servicePrincipal, delegation: $0.delegation) }
    }
}

extension AuthorizationIdentity {
    /// Creates an identity from a message. An unknown delegation policy is treated as `always`.
    init(_ principal: String, _ servicePrincipal: String, delegation: String?) {
        self.init(
            principal: principal,
            servicePrincipal: servicePrincipal,
            delegation: delegation.map { Delegation(rawValue: $0) ?? .always } ?? .none
        )
    }
}

/// The body of `POST /v1/authorize/{exchange}`: the server's token.
package struct ContinueRequest: Codable, Sendable {
    /// The decoded token.
    package var token: Data

    package init(token: Data) { self.token = token }
}

/// The response to `POST /v1/authorize/{exchange}`.
package struct ContinueReply: Codable, Sendable {
    /// The next step of the security context.
    package enum Step: String, Codable, Sendable {
        case send, established
    }

    /// The next step of the security context.
    package var step: Step
    /// The header fields of the next request.
    package var headers: [String: String]?

    package init(step: Step, headers: [String: String]? = nil) {
        self.step = step
        self.headers = headers
    }
}

/// The response to `POST /v1/authorize/{exchange}/refusal`.
package struct RefusalReply: Codable, Sendable {
    /// Whether the next token will use another ticket.
    package var isReplaced: Bool

    package init(isReplaced: Bool) { self.isReplaced = isReplaced }
}
