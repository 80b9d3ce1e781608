import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP2

extension HTTPClient {
    /// Sends a request once, over connections that a ``ConnectionGuard`` watches. The deadline of the whole call cancels the task; none is
    /// needed beneath.
    ///
    /// Throws ``ConnectionChange`` when it is to go over another connection, `CancellationError`, or else `HTTPTransportError`.
    func send(_ request: PendingRequest, to origin: Origin) async throws -> HTTPClientResponse {
        let sending = try await request.sending()
        do {
            return try await execute(sending, deadline: .distantFuture)
        } catch let error as CancellationError {
            throw error
        } catch let change as ConnectionChange {
            throw change
        } catch let error as UnansweredRequest {
            let failure = HTTPTransportError(error.cause, origin: origin)
            switch error.repetition {
            case .overHTTP1: throw ConnectionChange.protocolVersion
            case .always where request.isReplayable, .ifIdempotent where request.isRepeatable: throw ConnectionChange.unanswered(failure)
            case .always, .ifIdempotent, .none: throw failure
            }
        } catch let error where error.isOfAnUnwrittenRequest {
            // Any request may go again, its body untouched.
            throw ConnectionChange.unanswered(HTTPTransportError(ConnectionClosedBeforeRequest(cause: error), origin: origin))
        } catch {
            throw HTTPTransportError(error, origin: origin)
        }
    }
}

/// The pool gave a request to a connection that was closing.
struct ConnectionClosedBeforeRequest: Error {
    let cause: any Error
}

extension Error {
    /// Whether AsyncHTTPClient gave the request to a connection that had just ended. With a request on its way the ``ConnectionGuard``
    /// makes another error of the same cause, and a client that is shut down ends the call itself.
    fileprivate var isOfAnUnwrittenRequest: Bool {
        switch self {
        case let error as HTTPClientError: [.remoteConnectionClosed, .cancelled].contains(error)
        case let error as ChannelError: error == .ioOnClosedChannel
        default: false
        }
    }
}
