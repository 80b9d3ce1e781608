public import HTTPTypes

/// What a security context wants after a token of the server.
public enum AuthorizationExchangeStep: Sendable, Hashable {
    /// One more leg: send the request again with these fields.
    case send(HTTPFields)
    /// The context stands, and the server has proved itself as asked.
    case established
}
