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
