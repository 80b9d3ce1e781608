public import struct Foundation.URL

/// The one seam between an HTTP client and what holds the tickets.
///
/// An implementation may be in process or speak to a service; a client knows neither Kerberos nor profiles. Cancelling the task cancels
/// the request.
public protocol CredentialExtension: Sendable {
    /// The verdict for a URL, without network or cache: the same that `ksso explain` prints.
    func decision(for url: URL) -> AuthorizationDecision

    /// Carries out a request.
    ///
    /// Throws an ``AuthorizationError``: ``AuthorizationError/Code/notSignedIn`` without a valid ticket,
    /// ``AuthorizationError/Code/kdcUnreachable`` or ``AuthorizationError/Code/timedOut`` when the realm does not answer,
    /// ``AuthorizationError/Code/notInteractive`` when the user would have to be asked and may not be,
    /// ``AuthorizationError/Code/canceled`` when the task was cancelled.
    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome

    /// Who would answer a request now, without making a token; nil when the request would not be handled.
    ///
    /// A client asks before it sends a request over a connection that the server has authenticated already. Throws as
    /// ``beginAuthorization(with:)`` does.
    func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity?

    /// A grant that can be made at once of what is at hand; nil where the network, a cache or the user would have to be asked, and for
    /// every error.
    ///
    /// A client asks for it while it waits for a server that challenged the last time. It is sent only when the server challenges again,
    /// and thrown away otherwise; where there is none the challenge goes to ``beginAuthorization(with:)``.
    func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant?
}

extension CredentialExtension {
    /// Nil: every request gets a token of its own.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? { nil }

    /// Nil: a token is made when the server has asked for it.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? { nil }
}
