import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import Synchronization

/// The transport over the client's own connections: each class of requests has separate connections, and certificates are visible.
struct OwnConnections: NegotiateTransport {
    let clients: ClientStore

    var showsCertificates: Bool { true }

    func sendWithoutCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        guard origin.scheme == .http || fitsMultiplexed(request) else { return try await send(request, over: .anonymousHTTP1, to: origin) }
        do {
            return try await send(request, over: .anonymous, to: origin)
        } catch ConnectionChange.protocolVersion {
            guard request.isReplayable else {
                let message =
                    "\(origin) requires this request over HTTP/1.1, but the body cannot be sent again. Pass a closure that "
                    + "creates the body."
                throw AuthorizationError(.bodyNotReplayable, message)
            }
            return try await send(request, over: .anonymousHTTP1, to: origin)
        }
    }

    func fitsMultiplexed(_ request: PendingRequest) -> Bool { HeaderBlock.fits(request.head) }

    func sendWithOwnCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try await send(request, over: .singleUse, to: origin)
    }

    private func send(_ request: PendingRequest, over pool: ClientStore.Pool, to origin: Origin) async throws -> StampedResponse {
        StampedResponse(stampedBy: try await clients.client(pool).send(request, to: origin))
    }

    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) throws -> ClientLease {
        try clients.lease(for: identity, isMultiplexed: isMultiplexed)
    }

    func authenticatedConnection(for identity: ConnectionIdentity) throws -> ClientLease? {
        try clients.authenticatedLease(for: identity)
    }

    func send(_ request: PendingRequest, over connection: ClientLease, to origin: Origin) async throws -> StampedResponse {
        try await connection.send(request, to: origin)
    }
}

extension ClientLease: NegotiatedConnection {}

/// A lease of a client for one exchange: exclusive, together with its single connection, or shared if the connection is multiplexed. It
/// ends when the body of the exchange's last response has been read, or when the last reference is released.
final class ClientLease: Sendable {
    let client: IdentityClient
    private let store: ClientStore
    private let outcome = Mutex(Outcome())

    private struct Outcome {
        /// The connection of the last response.
        var connection: Int?
        var isKept = false
        var isAuthenticated = false
        var isEnded = false
    }

    init(_ client: IdentityClient, store: ClientStore) {
        self.client = client
        self.store = store
    }

    deinit { end() }

    /// Sends a request. Over HTTP/1.1, further requests of the lease must use the same connection.
    func send(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        var response = StampedResponse(stampedBy: try await client.client.send(request, to: origin))
        let connection = response.stamp?.connection
        outcome.withLock { $0.connection = connection }
        if !client.isMultiplexed { client.pin.hold(connection) }
        response.response.body = .stream(LeasedBody(body: response.response.body, lease: self))
        return response
    }
}

extension ClientLease {
    /// Called when a response's body has been read. If it was the last response of the exchange, the connection becomes free, even if the
    /// response is still referenced.
    fileprivate func bodyEnded() {
        if outcome.withLock({ $0.isKept }) { end() }
    }

    private func end() {
        let last = outcome.withLock { outcome -> Outcome? in
            defer { outcome.isEnded = true }
            return outcome.isEnded ? nil : outcome
        }
        guard let last else { return }
        store.release(client, isReusable: last.isKept, authenticatedConnection: last.isAuthenticated ? last.connection : nil)
    }

    /// Marks the exchange as successful, so that the connection may serve the same identity again. Otherwise it is closed with the lease.
    func keep(isAuthenticated: Bool) {
        outcome.withLock { ($0.isKept, $0.isAuthenticated) = (true, isAuthenticated) }
    }
}

/// A response's body that retains the lease of its connection.
private struct LeasedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    struct Iterator: AsyncIteratorProtocol {
        let lease: ClientLease
        var base: HTTPClientResponse.Body.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            let piece = try await base.next()
            if piece == nil { lease.bodyEnded() }
            return piece
        }
    }

    let body: HTTPClientResponse.Body
    let lease: ClientLease

    func makeAsyncIterator() -> Iterator { Iterator(lease: lease, base: body.makeAsyncIterator()) }
}
