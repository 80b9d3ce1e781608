public import HTTPTypes

public import struct Foundation.Date
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

/// A request to an extension: answer a challenge from this URL; or sign in, refresh, sign out, for the realm that covers it.
public struct AuthorizationRequest: Sendable {
    /// The URL that challenged.
    public var url: URL
    /// What to do.
    public var operation: AuthorizationOperation
    /// The fields of the request that was challenged, for an extension of your own; the one of this package does not look at them.
    public var headers: HTTPFields
    /// The caller's choice among several principals that are signed in; nil leaves it to the extension.
    public var principal: String?
    /// Whether the extension may ask the user. Off by default.
    public var isUserInterfaceEnabled: Bool
    /// The channel bindings of the connection that will carry the answer: `tls-server-end-point:` and the hash of the server's certificate
    /// (RFC 5929). Nil where there is no TLS, or where the client library does not show the certificate.
    public var channelBindings: [UInt8]?
    /// The caller's choice whether the server must prove itself; nil leaves it to the profile.
    public var mutualAuthentication: MutualAuthentication?
    /// Options that an extension of your own knows; the one of this package knows none.
    public var options: [String: String]
    /// The user who asks, if that is not the one whose tickets answer: such requests wait for a KDC among themselves.
    package var guest: UInt32?

    /// Makes a request; by default it answers a challenge and asks nobody.
    public init(
        url: URL,
        operation: AuthorizationOperation = .implicit,
        headers: HTTPFields = [:],
        principal: String? = nil,
        isUserInterfaceEnabled: Bool = false,
        channelBindings: [UInt8]? = nil,
        mutualAuthentication: MutualAuthentication? = nil,
        options: [String: String] = [:]
    ) {
        self.url = url
        self.operation = operation
        self.headers = headers
        self.principal = principal
        self.isUserInterfaceEnabled = isUserInterfaceEnabled
        self.channelBindings = channelBindings
        self.mutualAuthentication = mutualAuthentication
        self.options = options
    }
}

/// What an extension is asked to do.
public struct AuthorizationOperation: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The stable name.
    public let rawValue: String

    /// Makes an operation; one that is not listed here is a later version's or a caller's own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Answer a challenge.
    public static let implicit = AuthorizationOperation(rawValue: "implicit")
    /// Sign in, if nobody is: with what is at hand, or by asking where the request may.
    public static let login = AuthorizationOperation(rawValue: "login")
    /// Renew the ticket, or acquire it again: from its keytab, by a password that is kept, or by a certificate that wants no PIN. It asks
    /// nobody, whatever the request says.
    public static let refresh = AuthorizationOperation(rawValue: "refresh")
    /// Sign out.
    public static let logout = AuthorizationOperation(rawValue: "logout")

    /// The stable name.
    public var description: String { rawValue }
}

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

/// Who is signed in after a sign-in or a refresh, and for how long.
///
/// Its times are by this machine's clock, whatever the KDC's says. More may be told in a later version.
public struct AuthorizationReply: Sendable, Hashable, Codable {
    /// The user principal name: `alice@CORP.EXAMPLE`.
    public var userPrincipalName: String
    /// The realm that the user is signed in to.
    public var realm: String
    /// Until when the ticket-granting ticket holds.
    public var ticketExpires: Date
    /// Until when it can be renewed; nil when it can't.
    public var renewUntil: Date?
    /// When the password expires; nil where nobody knows, and where it never does.
    public var passwordExpires: Date?
    /// Where the tickets are, as `KRB5CCNAME` names it: `FILE:/tmp/krb5cc_1000`.
    public var cache: String

    /// Makes a reply.
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
