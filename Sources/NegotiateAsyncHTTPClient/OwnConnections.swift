import AsyncHTTPClient
import HTTPNegotiate

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
