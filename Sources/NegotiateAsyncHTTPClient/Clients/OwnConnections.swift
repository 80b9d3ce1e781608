import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import Synchronization

/// The transport over clients of our own: every class of requests has its connections, and certificates can be seen.
struct OwnConnections: NegotiateTransport {
    let clients: ClientStore

    var showsCertificates: Bool { true }

    func sendWithoutCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        guard fitsMultiplexed(request) || origin.scheme == .http else { return try await send(request, over: .anonymousHTTP1, to: origin) }
        do {
            return try await send(request, over: .anonymous, to: origin)
        } catch ConnectionChange.protocolVersion {
            guard request.isReplayable else {
                let message =
                    "\(origin) wants this request over HTTP/1.1, and the body can't be sent again. Give a closure that makes the body."
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

/// The use of a client: its sole use, and thereby that of its one connection, for a whole exchange; or a shared use, where the connection
/// is multiplexed. It ends when the body of the response that it was kept for is read, or else when the last reference goes.
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

    /// Sends over the client. Further requests of the lease go out over the same connection or not at all.
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
    /// The body of a response is read. When it was the last of the exchange the connection is free, whoever still holds the response.
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

    /// The exchange ended as it should: the connection may serve the same identity again. Without this it is closed with the lease.
    func keep(isAuthenticated: Bool) {
        outcome.withLock { ($0.isKept, $0.isAuthenticated) = (true, isAuthenticated) }
    }
}

/// A response's body that keeps its connection leased.
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
