public import HTTPTypes

/// The answer to a Negotiate challenge (RFC 4559 section 4.2): what goes into the `Authorization` field.
public struct NegotiateCredentials: Sendable, Hashable {
    /// The initiator's token.
    public let token: [UInt8]

    /// Makes credentials from a token.
    public init(token: [UInt8]) { self.token = token }

    /// The field's value: `Negotiate` and the token in base64.
    public var fieldValue: String { "Negotiate " + Base64.encode(token) }

    /// The `Authorization` field alone, marked so that no HTTP/2 peer puts it into its compression table.
    public var headers: HTTPFields {
        var field = HTTPField(name: .authorization, value: fieldValue)
        field.indexingStrategy = .disallow
        return HTTPFields([field])
    }
}

extension NegotiateCredentials: CustomStringConvertible, CustomReflectable {
    /// The token's length, never the token.
    public var description: String { "Negotiate, \(token.count) bytes" }
    /// Never the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
