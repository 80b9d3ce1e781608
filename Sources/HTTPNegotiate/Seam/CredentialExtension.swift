public import HTTPTypes
public import SignOnPolicy

public import struct Foundation.Date
public import struct Foundation.URL

/// The interface between an HTTP client and the component that holds the tickets.
///
/// An implementation may run in process or call a service; the client depends on neither Kerberos nor profiles. Canceling the task cancels
/// the request.
///
/// A client may call these methods on an event loop, so they must not block a thread. Run blocking work on another executor, such as
/// `withTaskExecutorPreference(globalConcurrentExecutor)`.
public protocol CredentialExtension: Sendable {
    /// Decides about a URL, without network or cache: the decision that `ksso explain` prints.
    func decision(for url: URL) -> AuthorizationDecision

    /// Decides about an origin server or a proxy, without network or cache.
    ///
    /// A client calls ``beginAuthorization(with:)`` for a proxy only if this has decided to answer that proxy, because an extension that
    /// knows no proxies does not read ``AuthorizationRequest/challenger``.
    ///
    /// - Parameters:
    ///   - url: The URL; for a proxy, `http://` and the address of the proxy itself.
    ///   - challenger: The sender of the challenge: the origin server or a proxy.
    func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision

    /// Performs a request.
    ///
    /// Throws an `AuthorizationError`: `AuthorizationError.Code.notSignedIn` without a valid ticket,
    /// `AuthorizationError.Code.kdcUnreachable` or `AuthorizationError.Code.timedOut` if the realm does not answer,
    /// `AuthorizationError.Code.notInteractive` if the user must be prompted and may not be,
    /// `AuthorizationError.Code.canceled` if the task was canceled.
    func beginAuthorization(with request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationOutcome

    /// The identity that would answer a request now, without creating a token; nil if the request would not be handled.
    ///
    /// A client calls this before it sends a request over a connection that the server has already authenticated. Throws as
    /// ``beginAuthorization(with:)`` does.
    func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity?

    /// A grant that can be created at once; nil if that requires the network, a cache or a prompt, and for every error.
    ///
    /// A client requests it while it waits for a server that challenged the last time. It is sent only if the server challenges again, and
    /// discarded otherwise; if there is none, ``beginAuthorization(with:)`` answers the challenge.
    func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant?
}

extension CredentialExtension {
    /// Ignores every proxy; an extension that has tickets for proxies overrides this.
    public func decision(for url: URL, challenger: Challenger) -> AuthorizationDecision {
        guard challenger == .proxy else { return decision(for: url) }
        let detail = "This extension has no tickets for proxies."
        return .ignore([DecisionReason(rule: "proxyHost", verdict: .failed, detail: detail)])
    }

    /// Returns nil: every request gets a token of its own.
    public func identity(for request: AuthorizationRequest) async throws(AuthorizationError) -> AuthorizationIdentity? { nil }

    /// Returns nil: tokens are created only after a challenge.
    public func readyGrant(for request: AuthorizationRequest) async -> AuthorizationGrant? { nil }
}

/// A request to an extension: to answer a challenge from this URL, or to sign in, refresh or sign out for its realm.
public struct AuthorizationRequest: Sendable {
    /// The URL that challenged. For a proxy it is `http://` and the address of the proxy itself.
    public var url: URL {
        didSet { plan = nil }
    }
    /// The sender of the challenge: the origin server or a proxy.
    public var challenger: Challenger {
        didSet { plan = nil }
    }
    /// What to do.
    public var operation: AuthorizationOperation
    /// The fields of the challenged request, for custom extensions; this package's extension ignores them.
    public var headers: HTTPFields
    /// The principal to use if several are signed in; nil leaves the choice to the extension.
    public var principal: String?
    /// Whether the extension may prompt the user. Off by default.
    public var isUserInterfaceEnabled: Bool
    /// The channel bindings of the connection that will carry the answer: `tls-server-end-point:` and the hash of the server's certificate
    /// (RFC 5929). Nil without TLS, or if the client library does not provide the certificate.
    public var channelBindings: [UInt8]?
    /// Whether the server must authenticate itself; nil leaves the choice to the profile.
    public var mutualAuthentication: MutualAuthentication?
    /// Options for custom extensions; this package's extension has none.
    public var options: [String: String]
    /// The user ID of the requesting user, if other than the tickets' owner: requests of such users wait for a KDC in a queue of their own.
    package var guest: UInt32?
    /// The plan for the URL and the challenger, if it has been decided on already. An extension whose policy did not make it decides
    /// itself.
    package var plan: AuthorizationPlan?

    /// Creates a request; by default it answers a challenge without prompting.
    public init(
        url: URL,
        challenger: Challenger = .origin,
        operation: AuthorizationOperation = .implicit,
        headers: HTTPFields = [:],
        principal: String? = nil,
        isUserInterfaceEnabled: Bool = false,
        channelBindings: [UInt8]? = nil,
        mutualAuthentication: MutualAuthentication? = nil,
        options: [String: String] = [:]
    ) {
        self.url = url
        self.challenger = challenger
        self.operation = operation
        self.headers = headers
        self.principal = principal
        self.isUserInterfaceEnabled = isUserInterfaceEnabled
        self.channelBindings = channelBindings
        self.mutualAuthentication = mutualAuthentication
        self.options = options
    }
}

/// The operation that an extension performs.
public struct AuthorizationOperation: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The stable name.
    public let rawValue: String

    /// Creates an operation. Later versions and callers may define operations that are not listed here.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Answer a challenge.
    public static let implicit = AuthorizationOperation(rawValue: "implicit")
    /// Sign in if no one is signed in: with available credentials, or with a prompt if the request allows it.
    public static let login = AuthorizationOperation(rawValue: "login")
    /// Renew the ticket or reacquire it: from its keytab, with a stored password, or with a certificate that requires no PIN. Never
    /// prompts, whatever the request allows.
    public static let refresh = AuthorizationOperation(rawValue: "refresh")
    /// Sign out.
    public static let logout = AuthorizationOperation(rawValue: "logout")

    /// The stable name.
    public var description: String { rawValue }
}

/// The result of an authorization request.
public enum AuthorizationOutcome: Sendable {
    /// Send the request again with these headers: `complete(httpAuthorizationHeaders:)`.
    case headers(AuthorizationGrant)
    /// Done, with nothing to send: `complete()`. The reply describes the session after a sign-in or refresh; nil after a sign-out, and if a
    /// custom extension returns none.
    case completed(AuthorizationReply?)
    /// The extension does not handle the request, for these reasons: `doNotHandle()`.
    case notHandled([DecisionReason])
}

/// The session after a sign-in or a refresh.
///
/// Its times are by this machine's clock, not the KDC's. Later versions may add properties.
public struct AuthorizationReply: Sendable, Hashable, Codable {
    /// The user principal name: `alice@CORP.EXAMPLE`.
    public var userPrincipalName: String
    /// The realm that the user is signed in to.
    public var realm: String
    /// When the ticket-granting ticket expires.
    public var ticketExpires: Date
    /// Until when it can be renewed; nil if it cannot.
    public var renewUntil: Date?
    /// When the password expires; nil if unknown or never.
    public var passwordExpires: Date?
    /// The credential cache, in the form of `KRB5CCNAME`: `FILE:/tmp/krb5cc_1000`.
    public var cache: String

    /// Creates a reply.
    public init(
        userPrincipalName: String,
        realm: String,
        ticketExpires: Date,
        renewUntil: Date? = nil,
        passwordExpires: Date? = nil,
        cache: String
    ) {
        self.userPrincipalName = userPrincipalName
        self.realm = realm
        self.ticketExpires = ticketExpires
        self.renewUntil = renewUntil
        self.passwordExpires = passwordExpires
        self.cache = cache
    }
}
