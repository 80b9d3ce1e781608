package import Foundation

/// The JSON of the API: dates are ISO 8601 in UTC, bytes base64.
package enum AgentJSON {
    // Coders are classes without locks: they may be shared because nobody changes their settings.
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

    /// Writes one document. Throws what `JSONEncoder` does.
    package static func encode(_ value: some Encodable) throws -> Data { try encoder.encode(value) }

    /// Reads one document. Throws `DecodingError`.
    package static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decoder.decode(type, from: data)
    }
}

/// Where the operations of the agent's API are (`openapi.yaml`).
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

    /// One exchange.
    package static func authorize(_ exchange: String) -> String { "\(authorize)/\(exchange)" }

    /// The server's refusal of an exchange's token.
    package static func refusal(_ exchange: String) -> String { "\(authorize)/\(exchange)/refusal" }
}

/// The API's own header fields.
package enum AgentHeader {
    /// Of every response: which configurations are in force. Another value than before means: load them again.
    package static let configurationVersion = "KSSO-Configuration"
    /// Why `auth-request` gives no ticket.
    package static let reason = "KSSO-Reason"
    /// The URL that nginx's `auth_request` is about.
    package static let originalURL = "X-Original-URL"
}
