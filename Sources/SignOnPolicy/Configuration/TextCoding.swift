extension Decoder {
    /// Decodes a text and creates a value from it. The error contains the text and, if known, the reason why it is invalid.
    func decodeText<Value>(_ make: (String) throws -> Value?) throws -> Value {
        let text = try singleValueContainer().decode(String.self)
        var cause: (any Error)?
        do {
            if let value = try make(text) { return value }
        } catch {
            cause = error
        }
        let reason = "\(text.debugDescription) is not a valid \(Value.self)." + (cause.map { " \($0)" } ?? "")
        throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: reason, underlyingError: cause))
    }
}

extension Encoder {
    /// Encodes a value as its text.
    func encodeText(_ value: some CustomStringConvertible) throws {
        var container = singleValueContainer()
        try container.encode(value.description)
    }
}

extension KeyedDecodingContainer {
    /// Decodes a value into a property, which keeps its default if the key is missing.
    func decode<Value: Decodable>(_ key: Key, into value: inout Value) throws {
        if let decoded = try decodeIfPresent(Value.self, forKey: key) { value = decoded }
    }

    /// Decodes a duration in seconds; nil if the key is missing.
    func decodeSeconds(_ key: Key) throws -> Duration? {
        guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
        // A Duration traps on what it cannot hold.
        guard seconds.magnitude < 0x1p62 else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "\(seconds) seconds are out of range.")
        }
        return .seconds(seconds)
    }
}

extension HostRule: Codable {
    /// Decodes a rule from its name.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { try HostRule($0) } }
    /// Encodes the rule's name.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension Origin: Codable {
    /// Decodes an origin from a URL.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { try Origin(url: $0) } }
    /// Encodes the origin as a URL.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension Origin: CodingKeyRepresentable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The origin as a URL.
    public var codingKey: any CodingKey { Key(stringValue: description) }
    /// Reads a URL; nil if it is not a valid one.
    public init?(codingKey: some CodingKey) { try? self.init(url: codingKey.stringValue) }
}

extension PreferredKDC: Codable {
    /// Decodes an entry as a profile writes it.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { try PreferredKDC($0) } }
    /// Encodes the entry as a profile writes it.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension ProxyAddress: Codable {
    /// Decodes an entry as a profile writes it.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { try ProxyAddress($0) } }
    /// Encodes the entry as a profile writes it.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension AllowedPeer.Peer: Codable {
    /// Decodes a peer such as `uid:33`.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { AllowedPeer.Peer($0) } }
    /// Encodes the peer as a profile writes it.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension CredentialCaller: Codable {
    /// Decodes an entry as a profile writes it.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { CredentialCaller($0) } }
    /// Encodes the entry as a profile writes it.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}

extension SessionLimits.TimeOfDay: Codable {
    /// Decodes a time such as `18:00`.
    public init(from decoder: any Decoder) throws { self = try decoder.decodeText { SessionLimits.TimeOfDay($0) } }
    /// Encodes the time as a profile writes it.
    public func encode(to encoder: any Encoder) throws { try encoder.encodeText(self) }
}
