package import HTTPNegotiate

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
