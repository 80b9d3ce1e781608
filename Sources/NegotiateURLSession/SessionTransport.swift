import FoundationNetworking
import HTTPNegotiate
import Synchronization

import struct Foundation.Data
import struct Foundation.URL

/// The transport of one call, which uses the sessions of a store.
struct SessionTransport: NegotiateTransport {
    let store: SessionPool
    /// The files for bodies; nil to hold them in memory.
    let files: CallFiles?

    /// URLSession on Linux exposes nothing about a connection.
    var showsCertificates: Bool { false }

    func sendWithoutCredentials(_ request: SessionRequest, to origin: Origin) async throws -> SessionResponse {
        try await send(request, in: store.sharedSession(), lease: nil, to: origin)
    }

    func sendWithOwnCredentials(_ request: SessionRequest, to origin: Origin) async throws -> SessionResponse {
        let lease = try store.singleUseLease()
        return try await send(request, in: lease.session, lease: lease, to: origin)
    }

    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) throws -> SessionLease {
        try store.lease(for: identity)
    }

    /// Always nil, because it is unknown whether a request without a ticket would use the connection that the server has authenticated, and
    /// any other connection would not authenticate it.
    func authenticatedConnection(for identity: ConnectionIdentity) throws -> SessionLease? { nil }

    func send(_ request: SessionRequest, over connection: SessionLease, to origin: Origin) async throws -> SessionResponse {
        try await send(request, in: connection.session, lease: connection, to: origin)
    }

    private func send(
        _ request: SessionRequest,
        in session: OpenSession,
        lease: SessionLease?,
        to origin: Origin
    ) async throws -> SessionResponse {
        // Draining a body ends without an error when the task is canceled; nothing more may be sent then.
        try Task.checkCancellation()
        try request.check()
        let transfer = Transfer(download: files?.makeFile())
        session.start(request, transfer)
        do {
            return SessionResponse(head: try await transfer.head(), transfer: transfer, origin: origin, lease: lease)
        } catch {
            throw HTTPTransportError.naming(error, origin: origin)
        }
    }
}

/// A response whose body is being received. If the last reference is released before the body has been read, the rest is not received.
final class SessionResponse: NegotiableResponse {
    let head: HTTPURLResponse
    private let transfer: Transfer
    private let origin: Origin
    /// Held until the body has arrived, so that no other exchange uses the session before.
    private let lease: Mutex<SessionLease?>

    init(head: HTTPURLResponse, transfer: Transfer, origin: Origin, lease: SessionLease?) {
        self.head = head
        self.transfer = transfer
        self.origin = origin
        self.lease = Mutex(lease)
    }

    deinit {
        transfer.cancel()
    }

    var statusCode: Int { head.statusCode }
    /// Unknown, because libcurl may have negotiated HTTP/2 with an https server.
    var isMultiplexed: Bool { false }
    var channelBindings: [UInt8]? { nil }

    /// Returns at most one value, because FoundationNetworking joins the lines of a field with commas.
    func fieldValues(_ name: String) -> [String] {
        head.value(forHTTPHeaderField: name).map { [$0] } ?? []
    }

    func drain() async {
        await transfer.drain()
        endLease()
    }

    /// Returns the whole body.
    func data() async throws -> Data { try await naming { try await transfer.data() } }

    /// Returns a file with the whole body.
    func file() async throws -> URL { try await naming { try await transfer.file() } }

    private func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
        defer { endLease() }
        do {
            return try await body()
        } catch {
            throw HTTPTransportError.naming(error, origin: origin)
        }
    }

    /// Ends the lease explicitly, because other references to this response may outlive the call, and the next call should find the
    /// session.
    private func endLease() {
        lease.withLock { $0 = nil }
    }
}
