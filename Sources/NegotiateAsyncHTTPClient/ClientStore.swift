import AsyncHTTPClient
import NIOCore
import Synchronization

/// The AsyncHTTPClients beneath one ``NegotiatingHTTPClient``: what keeps connections of different identities apart.
///
/// A pool of AsyncHTTPClient gives any idle connection to any request, so each class of requests has a pool of its own. An exchange has a
/// client with one connection to itself: all its legs then use the same connection, which servers that authenticate a connection need,
/// and exchanges do not wait for each other.
final class ClientStore: Sendable {
    /// How many clients with a connection that carried tickets are kept for later.
    static let maximumIdleClients = 16

    private struct Idle {
        let client: HTTPClient
        let identity: ClientIdentity
    }

    private struct State {
        var anonymous: HTTPClient?
        var singleUse: HTTPClient?
        /// The longest unused first.
        var idle: [Idle] = []
        var leased: [ObjectIdentifier: HTTPClient] = [:]
        var closing: [ObjectIdentifier: Task<Void, Never>] = [:]
        var isShutDown = false

        mutating func removeAll() -> [HTTPClient] {
            defer { (anonymous, singleUse, idle, leased) = (nil, nil, [], [:]) }
            return [anonymous, singleUse].compactMap(\.self) + idle.map(\.client) + Array(leased.values)
        }
    }

    private let state = Mutex(State())
    private let eventLoopGroup: any EventLoopGroup
    private let connections: HTTPClient.Configuration

    init(connections: HTTPClient.Configuration, eventLoopGroup: any EventLoopGroup) {
        var connections = connections
        connections.redirectConfiguration = .disallow
        connections.decompression = .disabled
        self.connections = connections
        self.eventLoopGroup = eventLoopGroup
    }

    deinit {
        // A client that is dropped while it is open traps in a debug build; one that is being shut down keeps itself alive.
        for client in state.withLock({ $0.removeAll() }) { client.shutdown { _ in } }
    }

    /// For requests without credentials, to any origin. Throws `shutDown`.
    func anonymousClient() throws(HTTPTransportError) -> HTTPClient {
        try withOpenState { state in
            if let client = state.anonymous { return client }
            let client = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: connections)
            state.anonymous = client
            return client
        }
    }

    /// For requests with the user's own credentials, which are not known here: each uses a connection of its own. Throws `shutDown`.
    func singleUseClient() throws(HTTPTransportError) -> HTTPClient {
        try withOpenState { state in
            if let client = state.singleUse { return client }
            var connections = connections
            connections.httpVersion = .http1Only
            connections.maximumUsesPerConnection = 1
            connections.connectionPool.preWarmedHTTP1ConnectionCount = 0
            let client = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: connections)
            state.singleUse = client
            return client
        }
    }

    /// For the requests with tickets of one exchange. Throws `shutDown`.
    func lease(for identity: ClientIdentity) throws(HTTPTransportError) -> ClientLease {
        let client = try withOpenState { state in
            let client: HTTPClient
            if let position = state.idle.lastIndex(where: { $0.identity == identity }) {
                client = state.idle.remove(at: position).client
            } else {
                client = HTTPClient(eventLoopGroup: eventLoopGroup, configuration: oneConnection)
            }
            state.leased[ObjectIdentifier(client)] = client
            return client
        }
        return ClientLease(client: client, identity: identity, store: self)
    }

    /// Ends a lease.
    func release(_ client: HTTPClient, identity: ClientIdentity, isReusable: Bool) {
        state.withLock { state in
            // After a shutdown it is no longer there, and closed already.
            guard state.leased.removeValue(forKey: ObjectIdentifier(client)) != nil else { return }
            guard isReusable else { return close(client, &state) }
            state.idle.append(Idle(client: client, identity: identity))
            if state.idle.count > ClientStore.maximumIdleClients { close(state.idle.removeFirst().client, &state) }
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

    private var oneConnection: HTTPClient.Configuration {
        var connections = connections
        connections.httpVersion = .http1Only
        connections.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        connections.connectionPool.preWarmedHTTP1ConnectionCount = 0
        return connections
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
        guard let value else { throw HTTPTransportError(.shutDown, "The client was shut down. Make a new one.") }
        return value
    }
}
