import AsyncHTTPClient
import NIOCore
import Synchronization

/// The sole use of a client, and thereby of its one connection, for a whole exchange. It ends when the last reference goes.
final class ClientLease: Sendable {
    let client: HTTPClient
    let identity: ClientIdentity
    private let store: ClientStore
    private let isTrusted = Mutex(false)

    init(client: HTTPClient, identity: ClientIdentity, store: ClientStore) {
        self.client = client
        self.identity = identity
        self.store = store
    }

    deinit {
        store.release(client, identity: identity, isReusable: isTrusted.withLock { $0 })
    }

    /// The exchange ended as it should: the connection may serve the same identity again. Without this it is closed with the lease.
    func keepConnection() {
        isTrusted.withLock { $0 = true }
    }

    /// The response, with the lease held until its body is read or dropped.
    func carrying(_ response: HTTPClientResponse) -> HTTPClientResponse {
        var response = response
        response.body = .stream(LeasedBody(body: response.body, lease: self))
        return response
    }
}

/// A response's body that keeps its connection leased.
private struct LeasedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    struct Iterator: AsyncIteratorProtocol {
        let lease: ClientLease
        var base: HTTPClientResponse.Body.AsyncIterator

        mutating func next() async throws -> ByteBuffer? { try await base.next() }
    }

    let body: HTTPClientResponse.Body
    let lease: ClientLease

    func makeAsyncIterator() -> Iterator { Iterator(lease: lease, base: body.makeAsyncIterator()) }
}
