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
