package import HTTPTypes
package import SignOnPolicy

/// The features that answering challenges requires of a client library: classes of connections that are never mixed.
package protocol NegotiateTransport: Sendable {
    associatedtype Request: NegotiableRequest
    associatedtype Response: NegotiableResponse
    associatedtype Connection: NegotiatedConnection

    /// Whether responses contain the channel bindings of their connection.
    var showsCertificates: Bool { get }

    /// Whether a request can be sent over a multiplexed connection: HTTP/2 or later.
    func fitsMultiplexed(_ request: Request) -> Bool

    /// Sends over a connection that carries only requests without credentials. Throws ``ConnectionChange/unanswered(_:)`` if the request
    /// should be sent again.
    func sendWithoutCredentials(_ request: Request, to origin: Origin) async throws -> Response
    /// Sends a request that contains the user's own credentials, over a connection that carries no other requests. Throws
    /// ``ConnectionChange/unanswered(_:)`` if the request should be sent again.
    func sendWithOwnCredentials(_ request: Request, to origin: Origin) async throws -> Response
    /// Returns a connection for one identity: exclusive to one exchange, unless it is multiplexed.
    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) throws -> Connection
    /// Returns an idle connection that a server has authenticated for this identity, if there is one.
    func authenticatedConnection(for identity: ConnectionIdentity) throws -> Connection?
    /// Sends over such a connection. Throws ``ConnectionChange`` if it is not the expected one.
    func send(_ request: Request, over connection: Connection, to origin: Origin) async throws -> Response
}

extension NegotiateTransport {
    /// True: the underlying library splits a large head as required.
    package func fitsMultiplexed(_ request: Request) -> Bool { true }
}

/// The use of a connection. The connection closes with the last reference, unless it is kept.
package protocol NegotiatedConnection: Sendable {
    /// Keeps the connection for later requests of the same identity, after a successful exchange.
    ///
    /// - Parameter isAuthenticated: Whether the server accepts later requests over it without a ticket.
    func keep(isAuthenticated: Bool)
}

/// A client library's request, with the parts that an exchange requires.
package protocol NegotiableRequest: Sendable {
    /// The full URL.
    var url: String { get set }
    /// The method's name.
    var methodName: String { get set }
    /// The header fields that `HTTPFields` can represent.
    var fields: HTTPFields { get }
    /// Whether it can be sent a second time.
    var isReplayable: Bool { get }
    /// Whether it asks for another protocol on its connection (RFC 9110 section 7.8).
    var asksForUpgrade: Bool { get }

    func hasField(_ name: String) -> Bool
    mutating func removeField(_ name: String)
    /// Replaces the fields with the same names.
    mutating func replace(with fields: HTTPFields)
    mutating func removeBody()
    /// Makes the request replayable, by reading its body into memory if necessary.
    ///
    /// Throws `bodyNotReplayable` beyond the limit, or what the body itself throws.
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws
}

extension NegotiableRequest {
    /// False, because only the local proxy forwards such requests.
    package var asksForUpgrade: Bool { false }
}

/// A client library's response, with the parts that an exchange requires.
package protocol NegotiableResponse: Sendable {
    var statusCode: Int { get }
    /// Whether it came over a connection with several streams: HTTP/2 or later.
    var isMultiplexed: Bool { get }
    /// The channel bindings of its connection; nil if there are none or they are unknown.
    var channelBindings: [UInt8]? { get }

    func fieldValues(_ name: String) -> [String]
    /// Reads and drops the body, so that the connection can be reused. Does not throw; stops at a large body.
    func drain() async
}

/// The client and server of a connection that carries tickets. Connections are shared only within one identity.
package struct ConnectionIdentity: Sendable, Hashable {
    package let origin: Origin
    package let authorization: AuthorizationIdentity
    /// Whether the ticket is bound to the server's certificate; if so, a connection with another certificate is not used.
    package let bindsChannel: Bool
    /// The channel bindings of that certificate; nil if it has none.
    package let channelBindings: [UInt8]?

    package init(origin: Origin, authorization: AuthorizationIdentity, bindsChannel: Bool, channelBindings: [UInt8]?) {
        self.origin = origin
        self.authorization = authorization
        self.bindsChannel = bindsChannel
        self.channelBindings = channelBindings
    }
}

/// Why a request must be sent again over another connection.
package enum ConnectionChange: Error {
    /// The connection is not the one that the exchange began on, or that the server authenticated. Nothing was sent.
    case connection
    /// No byte of a response came, and the request may be repeated: nothing of it was sent, the server did not process it, or its method is
    /// idempotent (RFC 9110 section 9.2.2). The error is thrown if no further attempt is made.
    case unanswered(HTTPTransportError)
    /// The connection has a certificate with these channel bindings; nil for a certificate without any.
    case certificate([UInt8]?)
    /// The request requires HTTP/1.1, because the server does (RFC 9113 section 7, HTTP_1_1_REQUIRED) or the head is too large for HTTP/2.
    case protocolVersion
}
