/// What became of an authorization request.
public enum AuthorizationOutcome: Sendable {
    /// Send the request again with these headers: `complete(httpAuthorizationHeaders:)`.
    case headers(AuthorizationGrant)
    /// Done, and there is nothing to send: `complete()`. Who is signed in now, after a sign-in and a refresh; nil after a sign-out, and
    /// where an extension of your own has nothing to tell.
    case completed(AuthorizationReply?)
    /// The extension leaves the request alone, for these reasons: `doNotHandle()`.
    case notHandled([DecisionReason])
}
