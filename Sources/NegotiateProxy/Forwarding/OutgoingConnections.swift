internal import HTTPNegotiate
internal import SignOnPolicy
internal import Synchronization

/// The idle connections of one client connection. They are not shared with other clients, and each is used for one purpose only, so that no
/// connection carries two identities.
final class OutgoingConnections: Sendable {
    enum Purpose: Sendable, Hashable {
        /// Requests without credentials.
        case plain(Origin)
        /// The client's own credentials, and later requests to the same origin, which a server may accept for them (RFC 4559 section 6).
        case own(Origin)
        /// Tickets of one identity.
        case ticket(ConnectionIdentity)
        /// Requests of an identity that the server has accepted for the whole connection.
        case authenticated(ConnectionIdentity)
    }

    /// More than a client uses at the same time; the oldest one is closed.
    private static let limit = 8

    private let idle = Mutex<[(purpose: Purpose, connection: OutgoingConnection)]>([])

    /// Takes an idle connection.
    func take(_ purpose: Purpose) -> OutgoingConnection? {
        idle.withLock { idle in
            guard let index = idle.lastIndex(where: { $0.purpose == purpose }) else { return nil }
            return idle.remove(at: index).connection
        }
    }

    func put(_ connection: OutgoingConnection, for purpose: Purpose) async {
        await connection.stream.watch()
        let surplus = idle.withLock { idle in
            idle.append((purpose, connection))
            return idle.count > Self.limit ? idle.removeFirst().connection : nil
        }
        surplus?.stream.close()
    }

    func closeAll() {
        let all = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for entry in all { entry.connection.stream.close() }
    }
}

/// The use of a connection for one exchange, which ends with the connection's return or its end.
final class ForwardConnection: NegotiatedConnection {
    private struct State {
        var connection: OutgoingConnection?
        var purpose: OutgoingConnections.Purpose?
        /// Whether an exchange has begun on the connection, which then must not change.
        var isUsed = false
        /// Whether ``begin()`` was called.
        var hasBegun = false
    }

    let identity: ConnectionIdentity?
    private let state: Mutex<State>

    /// - Parameter purpose: The purpose with which the connection is kept; nil to close it unless ``keep(isAuthenticated:)`` is called.
    init(
        _ connection: OutgoingConnection?,
        purpose: OutgoingConnections.Purpose?,
        identity: ConnectionIdentity? = nil,
        isUsed: Bool = false
    ) {
        self.identity = identity
        state = Mutex(State(connection: connection, purpose: purpose, isUsed: isUsed))
    }

    deinit { state.withLock { $0.connection }?.stream.close() }

    var purpose: OutgoingConnections.Purpose? { state.withLock { $0.purpose } }

    /// Takes the connection for one request.
    ///
    /// - Returns: The connection if there is one, whether a new one may replace it, and whether it is kept from an earlier request.
    func begin() -> (connection: OutgoingConnection?, isReplaceable: Bool, isKept: Bool) {
        state.withLock { state in
            defer { (state.connection, state.isUsed, state.hasBegun) = (nil, true, true) }
            return (state.connection, !state.isUsed, !state.hasBegun)
        }
    }

    /// Returns the connection for the next leg.
    func put(_ connection: OutgoingConnection) { state.withLock { $0.connection = connection } }

    func keep(isAuthenticated: Bool) {
        guard let identity else { return }
        state.withLock { $0.purpose = isAuthenticated ? .authenticated(identity) : .ticket(identity) }
    }
}
