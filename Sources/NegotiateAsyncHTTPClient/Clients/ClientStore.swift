import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import Synchronization

/// The AsyncHTTPClients of one ``NegotiatingHTTPClient``, which keep connections of different identities apart.
///
/// Because a pool of AsyncHTTPClient gives any idle connection to any request, each class of requests has its own pool. Over HTTP/1.1 an
/// exchange has a client with a single connection: all its legs then use the same connection, as servers that authenticate connections
/// require, and exchanges do not wait for each other. Over HTTP/2 the exchanges of one identity share a client.
final class ClientStore: Sendable {
    /// The maximum number of clients kept for reuse after their connections carried tickets, for HTTP/1.1 and HTTP/2 each.
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
        /// Requests without credentials.
        case anonymous
        /// Requests without credentials to servers that require HTTP/1.1.
        case anonymousHTTP1
        /// Requests with the user's own credentials, which are opaque to this client: each uses a new connection.
        case singleUse
    }

    private let state = Mutex(State())
    private let eventLoopGroup: any EventLoopGroup
    private let connections: HTTPClient.Configuration

    init(connections: HTTPClient.Configuration, eventLoopGroup: any EventLoopGroup) {
        var connections = connections
        connections.redirectConfiguration = .disallow
        connections.decompression = .disabled
        // A no-op tracer still receives the details of each request.
        if let tracer = connections.tracing.tracer, "\(type(of: tracer))" == "NoOpTracer" { connections.tracing.tracer = nil }
        self.connections = connections
        self.eventLoopGroup = eventLoopGroup
    }

    deinit {
        // In a debug build, a client that is released without a shutdown traps; one that is shutting down retains itself.
        for client in state.withLock({ $0.removeAll() }) { client.shutdown { _ in } }
    }

    /// Returns the client for requests without a ticket. Throws `shutDown`.
    func client(_ pool: Pool) throws(HTTPTransportError) -> HTTPClient {
        try withOpenState { state in
            if let client = state.pools[pool] { return client }
            let client = makeClient(configuration(for: pool), pin: nil)
            state.pools[pool] = client
            return client
        }
    }

    /// Returns a lease for the requests with tickets of one exchange. Throws `shutDown`.
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

    /// Returns a lease for a request without a ticket over a connection that the server has authenticated; nil if none is idle. Throws
    /// `shutDown`.
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

    /// Closes all clients; a second call has no effect.
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
        if let failure { throw HTTPTransportError(.other, "A connection was not closed properly: \(failure).", cause: failure) }
    }

    private func close(_ client: HTTPClient, _ state: inout State) {
        let identifier = ObjectIdentifier(client)
        state.closing[identifier] = Task {
            // The client has left the pool, so an error while closing it concerns no caller.
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
