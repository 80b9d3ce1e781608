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
