import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// The transport over an external client, which hides its certificates. Because its pool gives any connection to any request, a request
/// with a ticket asks for its connection to be closed.
struct ExternalClient: NegotiateTransport {
    let client: HTTPClient
    /// Whether the external client never uses HTTP/2.
    let isHTTP1Only: Bool
    private let origins = OriginVersions()

    init(client: HTTPClient, isHTTP1Only: Bool) {
        self.client = client
        self.isHTTP1Only = isHTTP1Only
    }

    var showsCertificates: Bool { false }

    func sendWithoutCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try await send(request, to: origin)
    }

    func sendWithOwnCredentials(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try await sendClosing(request, to: origin)
    }

    func connection(for identity: ConnectionIdentity, isMultiplexed: Bool) -> Connection { Connection() }

    func authenticatedConnection(for identity: ConnectionIdentity) -> Connection? { nil }

    func send(_ request: PendingRequest, over connection: Connection, to origin: Origin) async throws -> StampedResponse {
        guard connection.use() else {
            let message =
                "\(origin) requires several requests over one connection, which an HTTPClient created elsewhere cannot guarantee. "
                + "Let NegotiatingHTTPClient open its own connections."
            throw AuthorizationError(.failed, message)
        }
        return try await sendClosing(request, to: origin)
    }

    private func sendClosing(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        var request = request
        request.closesConnection()
        return try await send(request, to: origin)
    }

    private func send(_ request: PendingRequest, to origin: Origin) async throws -> StampedResponse {
        try checkSize(request, to: origin)
        let sending = try await request.sending()
        let response: HTTPClientResponse
        do {
            response = try await client.execute(sending, deadline: .distantFuture)
        } catch let error as CancellationError {
            throw error
        } catch let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .http11Required {
            throw ConnectionChange.protocolVersion
        } catch let error as HTTPClientError where error == .cancelled && request.isReplayable {
            // The pool assigned the request to a connection that was closing, so nothing was sent. If the client was shut down, the next
            // attempt reports that.
            throw ConnectionChange.unanswered(HTTPTransportError(ConnectionClosedBeforeRequest(cause: error), origin: origin))
        } catch {
            let failure = HTTPTransportError(error, origin: origin)
            let isRefused = (error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .refusedStream
            // The request may have been sent over an idle connection.
            let isLost = failure.code == .connectionClosed && !error.isOfResponse && origins.hasKept(origin)
            throw isRefused && request.isReplayable || isLost && request.isRepeatable ? ConnectionChange.unanswered(failure) : failure
        }
        guard response.history.count <= 1 else {
            let message =
                "The HTTPClient followed a redirect of \(origin) by itself, so the redirect could not be checked. "
                + "Create it with redirectConfiguration = .disallow; redirects are still followed."
            throw HTTPTransportError(.invalidRedirect, message)
        }
        let stamped = StampedResponse(response)
        origins.note(origin, isMultiplexed: stamped.isMultiplexed)
        return stamped
    }

    /// Rejects a head that is too large for HTTP/2, because it would never be answered. The external client and the server choose the
    /// version.
    private func checkSize(_ request: PendingRequest, to origin: Origin) throws(HTTPTransportError) {
        guard origin.scheme == .https, !isHTTP1Only, origins.isMultiplexed(origin) != false, !HeaderBlock.fits(request.head) else { return }
        let message =
            "The head of the request to \(origin) is too large for HTTP/2 in AsyncHTTPClient. Let NegotiatingHTTPClient open its "
            + "own connections, or set httpVersion = .http1Only in the HTTPClient and in configuration.connections."
        throw HTTPTransportError(.headTooLarge, message)
    }

    /// A connection for a single request with a ticket.
    final class Connection: NegotiatedConnection {
        private let isUsed = Mutex(false)

        /// Marks the connection as used. Returns whether it was unused.
        func use() -> Bool {
            isUsed.withLock { isUsed in
                defer { isUsed = true }
                return !isUsed
            }
        }

        func keep(isAuthenticated: Bool) {}
    }
}

/// The HTTP versions of the origins that have answered.
private final class OriginVersions: Sendable {
    /// The maximum number of origins, more than a process usually uses; beyond it all are removed.
    private static let limit = 1024

    private let origins = Mutex<[Origin: Bool]>([:])

    func note(_ origin: Origin, isMultiplexed: Bool) {
        origins.withLock { origins in
            if origins.count >= Self.limit, origins[origin] == nil { origins.removeAll() }
            origins[origin] = isMultiplexed
        }
    }

    /// Whether the origin answers over HTTP/2; nil if it has not answered yet.
    func isMultiplexed(_ origin: Origin) -> Bool? { origins.withLock { $0[origin] } }

    /// Whether the pool may have an idle connection to the origin.
    func hasKept(_ origin: Origin) -> Bool { isMultiplexed(origin) != nil }
}

extension Error {
    /// Whether a part of a response preceded the error.
    fileprivate var isOfResponse: Bool { self is HTTPParserError }
}
