import AsyncHTTPClient
import HTTPNegotiate
import NIOHTTP1
import Synchronization

/// The transport over a client that was made elsewhere. It shows no certificates, and its pool gives any connection to any request: what
/// carries a ticket therefore asks for its connection to be closed.
struct GivenClient: NegotiateTransport {
    let client: HTTPClient

    var showsCertificates: Bool { false }

    func sendWithoutCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try await send(request.sending(), to: origin)
    }

    func sendWithOwnCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try await sendClosing(request, to: origin)
    }

    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) -> Connection { Connection() }

    func authenticatedConnection(for identity: ConnectionIdentity) -> Connection? { nil }

    func send(_ request: PendingRequest, over connection: Connection, to origin: Origin) async throws -> StampedResponse {
        guard connection.use() else {
            let message =
                "\(origin) wants several requests over one connection, which an HTTPClient made elsewhere can't promise. "
                + "Let NegotiatingHTTPClient make its own connections."
            throw AuthorizationError(.failed, message)
        }
        return try await sendClosing(request, to: origin)
    }

    private func sendClosing(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        var request = try await request.sending()
        request.headers.replaceOrAdd(name: "Connection", value: "close")
        return try await send(request, to: origin)
    }

    private func send(_ request: HTTPClientRequest, to origin: Origin) async throws -> StampedResponse {
        let response = try await client.send(request, isRepeatable: false, to: origin)
        guard response.history.count <= 1 else {
            let message =
                "The HTTPClient followed a redirect of \(origin) by itself, so that no redirect could be judged. "
                + "Make it with redirectConfiguration = .disallow; redirects are followed all the same."
            throw HTTPTransportError(.invalidRedirect, message)
        }
        return StampedResponse(response)
    }

    /// One request with a ticket.
    final class Connection: NegotiatedConnection {
        private let isUsed = Mutex(false)

        /// Whether it was unused.
        func use() -> Bool {
            isUsed.withLock { isUsed in
                defer { isUsed = true }
                return !isUsed
            }
        }

        func keep(isAuthenticated: Bool) {}
    }
}
