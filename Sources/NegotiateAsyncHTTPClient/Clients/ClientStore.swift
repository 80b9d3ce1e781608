import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import Synchronization

/// The AsyncHTTPClients beneath one ``NegotiatingHTTPClient``: what keeps connections of different identities apart.
///
/// A pool of AsyncHTTPClient gives any idle connection to any request, so each class of requests has a pool of its own. Over HTTP/1.1 an
/// exchange has a client with one connection to itself: all its legs then use the same connection, which servers that authenticate a
/// connection need, and exchanges do not wait for each other. Over HTTP/2 the exchanges of one identity share a client.
final class ClientStore: Sendable {
    /// How many clients with connections that carried tickets are kept for later, of either kind.
    static let maximumIdleClients = 64

    private struct State {
        var pools: [Pool: HTTPClient] = [:]
        var identities = IdentityClients()
        var closing: [ObjectIdentifier: Task<Void, Never>] = [:]
        var isShutDown = false

        mutating func removeAll() -> [HTTPClient] {
            defer { (pools, identities) = ([:], IdentityClients()) }
            return Array(pools.values) + identities.all
        }
    }

    /// A class of requests without a ticket.
    enum Pool: Hashable {
        /// Without credentials.
        case anonymous
        /// Without credentials, to servers that want HTTP/1.1.
        case anonymousHTTP1
        /// With the user's own credentials, which are not known here: each uses a connection of its own.
        case singleUse
    }

    private let state = Mutex(State())
    private let eventLoopGroup: any EventLoopGroup
    private let connections: HTTPClient.Configuration

    init(connections: HTTPClient.Configuration, eventLoopGroup: any EventLoopGroup) {
        var connections = connections
        connections.redirectConfiguration = .disallow
        connections.decompression = .disabled
        // One that does nothing is still told of each request in detail.
        if let tracer = connections.tracing.tracer, "\(type(of: tracer))" == "NoOpTracer" { connections.tracing.tracer = nil }
        self.connections = connections
        self.eventLoopGroup = eventLoopGroup
    }

    deinit {
        // A client that is dropped while it is open traps in a debug build; one that is being shut down keeps itself alive.
        for client in state.withLock({ $0.removeAll() }) { client.shutdown { _ in } }
    }

    /// The client for requests without a ticket. Throws `shutDown`.
    func client(_ pool: Pool) throws(HTTPTransportError) -> HTTPClient {
        try withOpenState { state in
            if let client = state.pools[pool] { return client }
            let client = makeClient(configuration(for: pool), pin: nil)
            state.pools[pool] = client
            return client
        }
    }

    /// For the requests with tickets of one exchange. Throws `shutDown`.
    func lease(for identity: ConnectionIdentity, isMultiplexed: Bool) throws(HTTPTransportError) -> ClientLease {
        let client = try withOpenState { state in
            if let client = state.identities.take(identity, isMultiplexed: isMultiplexed) { return client }
            let pin = ConnectionPin(identity)
            let client = makeClient(isMultiplexed ? connections : oneConnection, pin: pin)
            return state.identities.add(IdentityClient(client: client, identity: identity, pin: pin, isMultiplexed: isMultiplexed))
        }
        client.pin.hold(nil)
        return ClientLease(client, store: self)
    }

    /// For a request without a ticket over a connection that the server has authenticated; nil when none is idle. Throws `shutDown`.
    func authenticatedLease(for identity: ConnectionIdentity) throws(HTTPTransportError) -> ClientLease? {
        let found = try withOpenState { $0.identities.takeAuthenticated(identity) }
        guard let (client, connection) = found else { return nil }
        client.pin.hold(connection)
        return ClientLease(client, store: self)
    }

    /// Ends a lease.
    func release(_ client: IdentityClient, isReusable: Bool, authenticatedConnection: Int?) {
        state.withLock { state in
            let surplus = state.identities.release(client, isReusable: isReusable, authenticatedConnection: authenticatedConnection)
            for client in surplus { close(client, &state) }
        }
    }

    /// Closes everything; a second call finds nothing to close.
    func shutdown() async throws(HTTPTransportError) {
        let (clients, closing) = state.withLock { state in
            state.isShutDown = true
            return (state.removeAll(), Array(state.closing.values))
        }
        var failure: (any Error)?
        for client in clients {
            do { try await client.shutdown() } catch { failure = error }
        }
        for task in closing { await task.value }
        if let failure { throw HTTPTransportError(.other, "A connection was not closed in order: \(failure).", cause: failure) }
    }

    private func close(_ client: HTTPClient, _ state: inout State) {
        let identifier = ObjectIdentifier(client)
        state.closing[identifier] = Task {
            // It is out of the pool; a connection that does not close in order is nobody's concern any more.
            try? await client.shutdown()
            self.state.withLock { $0.closing[identifier] = nil }
        }
    }

    private func withOpenState<Value>(_ body: (inout State) -> sending Value) throws(HTTPTransportError) -> sending Value {
        let value: Value? = state.withLock { state in state.isShutDown ? nil : body(&state) }
        guard let value else { throw .shutDown }
        return value
    }
}

extension ClientStore {
    private func makeClient(_ configuration: HTTPClient.Configuration, pin: ConnectionPin?) -> HTTPClient {
        var configuration = configuration
        configuration.guardConnections(pin)
        return HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration)
    }

    private func configuration(for pool: Pool) -> HTTPClient.Configuration {
        var connections = connections
        switch pool {
        case .anonymous: break
        case .anonymousHTTP1: connections.httpVersion = .http1Only
        case .singleUse:
            connections.httpVersion = .http1Only
            connections.maximumUsesPerConnection = 1
            connections.connectionPool.preWarmedHTTP1ConnectionCount = 0
        }
        return connections
    }

    private var oneConnection: HTTPClient.Configuration {
        var connections = connections
        connections.httpVersion = .http1Only
        connections.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        connections.connectionPool.preWarmedHTTP1ConnectionCount = 0
        return connections
    }
}
