package import struct Foundation.Data

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
