public import HTTPTypes

public import struct Foundation.URL

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
