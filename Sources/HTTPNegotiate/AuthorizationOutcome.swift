/// What became of an authorization request.
public enum AuthorizationOutcome: Sendable {
    /// Send the request again with these headers: `complete(httpAuthorizationHeaders:)`.
    case headers(AuthorizationGrant)
    /// Done, and there is nothing to send: `complete()`.
    case completed
    /// The extension leaves the request alone, for these reasons: `doNotHandle()`.
    case notHandled([DecisionReason])
}
