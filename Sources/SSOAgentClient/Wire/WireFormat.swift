package import Foundation
package import SignOnPolicy

/// Encodes and decodes the API's JSON: dates are ISO 8601 in UTC, bytes are base64.
package enum AgentJSON {
    // The coders are classes without locks. They can be shared because their settings never change.
    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .withoutEscapingSlashes
        return encoder
    }()

    private static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }()

    /// Encodes a document. Throws the errors of `JSONEncoder`.
    package static func encode(_ value: some Encodable) throws -> Data { try encoder.encode(value) }

    /// Decodes a document. Throws `DecodingError`.
    package static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decoder.decode(type, from: data)
    }
}

/// The paths of the API's operations (`openapi.yaml`).
package enum AgentPath {
    package static let authorize = "/v1/authorize"
    package static let identity = "/v1/identity"
    package static let login = "/v1/login"
    package static let refresh = "/v1/refresh"
    package static let logout = "/v1/logout"
    package static let password = "/v1/password"
    package static let status = "/v1/status"
    package static let explain = "/v1/explain"
    package static let events = "/v1/events"
    package static let configuration = "/v1/configuration"
    package static let stop = "/v1/stop"
    package static let authRequest = "/v1/auth-request"

    /// The path of an exchange.
    package static func authorize(_ exchange: String) -> String { "\(authorize)/\(exchange)" }

    /// The path for reporting that the server refused an exchange's token.
    package static func refusal(_ exchange: String) -> String { "\(authorize)/\(exchange)/refusal" }
}

/// The API's own header fields.
package enum AgentHeader {
    /// The version of the active configurations, part of every response. If it changes, load the configurations again.
    package static let configurationVersion = "KSSO-Configuration"
    /// The reason why `auth-request` returns no token.
    package static let reason = "KSSO-Reason"
    /// The URL that nginx's `auth_request` is about.
    package static let originalURL = "X-Original-URL"
}

/// The response to `GET /v1/configuration`: the agent's configurations, so that its clients decide as the agent does.
package struct ConfigurationReply: Codable, Sendable {
    /// A version that changes with the configurations.
    package var version: String
    /// The active configurations, in order.
    package var configurations: [ExtensionConfiguration]

    package init(version: String, configurations: [ExtensionConfiguration]) {
        self.version = version
        self.configurations = configurations
    }
}
