import HTTPNegotiate

/// Carries the requests of one call over the sessions of a store.
struct SessionTransport: NegotiateTransport {
    let store: SessionStore
    /// Where bodies go; nil for memory.
    let files: CallFiles?

    /// URLSession on Linux shows nothing of a connection.
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

    /// None, ever: whether a request without a ticket went over the very connection that the server authenticated could not be known, and
    /// another would prove nothing.
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
        // Draining a body ends without an error when the task is cancelled; nothing more is sent then.
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
