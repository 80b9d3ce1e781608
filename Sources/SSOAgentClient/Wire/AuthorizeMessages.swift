package import Foundation
package import HTTPNegotiate
internal import HTTPTypes

/// The body of `POST /v1/authorize` and `POST /v1/identity`.
package struct AuthorizeRequest: Codable, Sendable, Hashable {
    /// The URL that challenged.
    package var url: String
    /// What to do: `implicit` if nil.
    package var operation: String?
    /// The server's `WWW-Authenticate` field; nil where the caller has looked at it.
    package var challenge: String?
    /// Who shall answer; nil leaves it to the agent.
    package var principal: String?
    /// The channel bindings of the connection (RFC 5929).
    package var channelBindings: Data?
    /// `required`, `optional`, `off`; nil leaves it to the profile.
    package var mutualAuthentication: String?
    /// Options that an extension of one's own knows.
    package var options: [String: String]?
    /// False: the caller does not look at the server's final token, and no exchange is kept for it.
    package var keepsExchange: Bool?
    /// True: whoever sits at the machine may be asked to sign in.
    package var mayAsk: Bool?

    package init(
        url: String,
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
        self.operation = operation
        self.challenge = challenge
        self.principal = principal
        self.channelBindings = channelBindings
        self.mutualAuthentication = mutualAuthentication
        self.options = options
        self.keepsExchange = keepsExchange
        self.mayAsk = mayAsk
    }

    /// What a client's request says over the wire. The fields of the challenged request stay with the client: the agent needs none of them.
    package init(_ request: AuthorizationRequest) {
        self.init(
            url: request.url.absoluteString,
            operation: request.operation == .implicit ? nil : request.operation.rawValue,
            principal: request.principal,
            channelBindings: request.channelBindings.map { Data($0) },
            mutualAuthentication: request.mutualAuthentication?.rawValue,
            options: request.options.isEmpty ? nil : request.options,
            mayAsk: request.isUserInterfaceEnabled ? true : nil
        )
    }

    /// The request for the agent's extension.
    ///
    /// - Throws: `AuthorizationError`; `invalidURL`, or `failed` for a choice that is not known.
    package func authorizationRequest() throws(AuthorizationError) -> AuthorizationRequest {
        _ = try Origin(url: url)
        guard let url = URL(string: url) else { throw AuthorizationError(.invalidURL, "This is not a URL.") }
        var request = AuthorizationRequest(url: url, operation: operation.map { .init(rawValue: $0) } ?? .implicit)
        if let mutualAuthentication {
            guard let choice = MutualAuthentication(rawValue: mutualAuthentication) else {
                throw AuthorizationError(.failed, "mutualAuthentication is one of required, optional and off.")
            }
            request.mutualAuthentication = choice
        }
        if let challenge { request.headers[.wwwAuthenticate] = challenge }
        request.principal = principal
        request.channelBindings = channelBindings.map { Array($0) }
        request.options = options ?? [:]
        request.isUserInterfaceEnabled = mayAsk ?? false
        return request
    }
}

/// The answer to `POST /v1/authorize`.
package struct AuthorizeReply: Codable, Sendable {
    /// What became of the request.
    package enum Outcome: String, Codable, Sendable {
        case headers, completed, notHandled
    }

    /// What became of it.
    package var outcome: Outcome
    /// The fields to add to the request.
    package var headers: [String: String]?
    /// Who signs.
    package var principal: String?
    /// The service that the ticket is for.
    package var servicePrincipal: String?
    /// What the profile says of delegation: `none`, `byPolicy`, `always`.
    package var delegation: String?
    /// Whether the server gets the user's own ticket.
    package var isDelegated: Bool?
    /// The exchange that takes the server's token; for the caller's user only, for two minutes.
    package var exchange: String?
    /// Why it was not handled.
    package var reasons: [DecisionReason]?
    /// Who is signed in now, after a sign-in or a refresh.
    package var reply: AuthorizationReply?

    package init(outcome: Outcome, reasons: [DecisionReason]? = nil, reply: AuthorizationReply? = nil) {
        self.outcome = outcome
        self.reply = reply
        self.reasons = reasons
    }
}

/// The answer to `POST /v1/identity`.
package struct IdentityReply: Codable, Sendable {
    /// Who answers whom.
    package struct Identity: Codable, Sendable {
        package var principal: String
        package var servicePrincipal: String
        package var delegation: String
    }

    /// Nil: the request would not be answered.
    package var identity: Identity?

    package init(_ identity: AuthorizationIdentity?) {
        self.identity = identity.map {
            Identity(principal: $0.principal, servicePrincipal: $0.servicePrincipal, delegation: $0.delegation.rawValue)
        }
    }

    /// As the seam has it.
    package var authorizationIdentity: AuthorizationIdentity? {
        identity.map { AuthorizationIdentity($0.principal, $0.servicePrincipal, delegation: $0.delegation) }
    }
}

extension AuthorizationIdentity {
    /// From the wire; a delegation that is not known counts as one.
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
    /// The token, decoded.
    package var token: Data

    package init(token: Data) { self.token = token }
}

/// The answer to it.
package struct ContinueReply: Codable, Sendable {
    /// What the security context wants.
    package enum Step: String, Codable, Sendable {
        case send, established
    }

    /// What the security context wants.
    package var step: Step
    /// The fields of the next leg.
    package var headers: [String: String]?

    package init(step: Step, headers: [String: String]? = nil) {
        self.step = step
        self.headers = headers
    }
}

/// The answer to `POST /v1/authorize/{exchange}/refusal`.
package struct RefusalReply: Codable, Sendable {
    /// Whether the next token comes from another ticket.
    package var isReplaced: Bool

    package init(isReplaced: Bool) { self.isReplaced = isReplaced }
}
