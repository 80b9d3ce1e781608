package import HTTPTypes

/// What a client library must offer for challenges to be answered over it: classes of connections that are never mixed.
package protocol NegotiateTransport: Sendable {
    associatedtype Request: NegotiableRequest
    associatedtype Response: NegotiableResponse
    associatedtype Connection: NegotiatedConnection

    /// Whether responses carry the channel bindings of their connection.
    var showsCertificates: Bool { get }

    /// Whether a request can go over a multiplexed connection: HTTP/2 or later.
    func fitsMultiplexed(_ request: Request) -> Bool

    /// Sends over a connection that carries requests without credentials only. Throws ``ConnectionChange/unanswered(_:)`` when the request
    /// is to be sent again.
    func sendWithoutCredentials(_ request: Request, to origin: Origin) async throws -> Response
    /// Sends a request that carries the user's own credentials, over a connection that is used for nothing else. Throws
    /// ``ConnectionChange/unanswered(_:)`` when the request is to be sent again.
    func sendWithOwnCredentials(_ request: Request, to origin: Origin) async throws -> Response
    /// A connection for one identity: for one exchange alone, unless it is multiplexed.
    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) throws -> Connection
    /// A connection that a server has authenticated for this identity, if one is idle.
    func authenticatedConnection(for identity: ConnectionIdentity) throws -> Connection?
    /// Sends over such a connection. Throws ``ConnectionChange`` when it is not the one meant.
    func send(_ request: Request, over connection: Connection, to origin: Origin) async throws -> Response
}

extension NegotiateTransport {
    /// True: the library beneath divides a head as it needs.
    package func fitsMultiplexed(_ request: Request) -> Bool { true }
}

/// The use of a connection. It ends when the last reference goes, and with it the connection, unless it was kept.
package protocol NegotiatedConnection: Sendable {
    /// The exchange ended as it should: later requests of the same identity may use the connection.
    ///
    /// - Parameter isAuthenticated: Whether the server takes later requests over it without a ticket.
    func keep(isAuthenticated: Bool)
}

/// A client library's request, as far as an exchange has to know it.
package protocol NegotiableRequest: Sendable {
    /// The URL, whole.
    var url: String { get set }
    /// The method's name.
    var methodName: String { get set }
    /// The fields, as far as they can be held.
    var fields: HTTPFields { get }
    /// Whether it can be sent a second time.
    var isReplayable: Bool { get }

    func hasField(_ name: String) -> Bool
    mutating func removeField(_ name: String)
    /// Puts fields in the place of those with the same names.
    mutating func replace(with fields: HTTPFields)
    mutating func removeBody()
    /// Makes it replayable, by reading its body into memory if need be.
    ///
    /// Throws `bodyNotReplayable` beyond the limit, or what the body itself throws.
    mutating func makeReplayable(upTo limit: Int, for origin: Origin) async throws
}

/// A client library's response, as far as an exchange has to know it.
package protocol NegotiableResponse: Sendable {
    var statusCode: Int { get }
    /// Whether it came as one of many streams over one connection: HTTP/2 or later.
    var isMultiplexed: Bool { get }
    /// The channel bindings of the connection that it came over; nil where there are none to be seen.
    var channelBindings: [UInt8]? { get }

    func fieldValues(_ name: String) -> [String]
    /// Reads and drops the body, so that the connection can be used again. Does not throw; gives up on a large body.
    func drain() async
}

/// For whom and with whom a connection that carries tickets speaks. Connections are shared only within one identity.
package struct ConnectionIdentity: Sendable, Hashable {
    package let origin: Origin
    package let authorization: AuthorizationIdentity
    /// Whether the ticket is bound to the server's certificate; a connection that shows another certificate is not used then.
    package let bindsChannel: Bool
    /// The channel bindings of that certificate; nil for one that has none.
    package let channelBindings: [UInt8]?

    package init(origin: Origin, authorization: AuthorizationIdentity, bindsChannel: Bool, channelBindings: [UInt8]?) {
        self.origin = origin
        self.authorization = authorization
        self.bindsChannel = bindsChannel
        self.channelBindings = channelBindings
    }
}

/// Why a request is to be sent again, over another connection.
package enum ConnectionChange: Error {
    /// The connection at hand is not the one that the exchange began on, or that the server authenticated. Nothing was sent.
    case connection
    /// No byte of a response came, and the request may be repeated: nothing of it was sent, the server did not process it, or its method is
    /// idempotent (RFC 9110 section 9.2.2). The error is for when no further attempt is made.
    case unanswered(HTTPTransportError)
    /// The connection at hand shows a certificate with these channel bindings, nil for a certificate that has none.
    case certificate([UInt8]?)
    /// The request needs HTTP/1.1: the server wants it (RFC 9113 section 7, HTTP_1_1_REQUIRED), or the head is too large for HTTP/2.
    case protocolVersion
}
