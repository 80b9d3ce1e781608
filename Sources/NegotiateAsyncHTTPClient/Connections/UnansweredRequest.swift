import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// A request whose head went into a connection, and which ended before the head of a response came.
struct UnansweredRequest: Error {
    /// Whether, and how, the request may be sent again.
    enum Repetition: Sendable {
        /// Not at all: the server may have decided about it.
        case none
        /// The connection had served before and ended without a byte of the response: again if the method is idempotent, since whether the
        /// server saw the request is not known (RFC 9110 section 9.2.2).
        case ifIdempotent
        /// The server says that it has not processed it (RFC 9113 section 8.7): again, whatever the method.
        case always
        /// The server requires HTTP/1.1 for it (RFC 9113 section 7, HTTP_1_1_REQUIRED).
        case overHTTP1
    }

    let cause: any Error
    let repetition: Repetition
}

/// An HTTP/2 connection that the server ended with a GOAWAY frame (RFC 9113 section 6.8).
struct ConnectionGoAway: Error {
    /// The last stream that the server may have processed.
    let lastStream: HTTP2StreamID
    let reason: HTTP2ErrorCode
}

/// What is known of one connection. Its event loop's alone; over HTTP/2 it is in the connection's pipeline, where its streams find it.
final class ConnectionRecord: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    let stamp: ConnectionStamp
    /// Whether a response has come over it.
    var hasServed = false
    private var goAway: ConnectionGoAway?

    init(_ stamp: ConnectionStamp) { self.stamp = stamp }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .goAway(let lastStream, let reason, _) = unwrapInboundIn(data).payload {
            goAway = ConnectionGoAway(lastStream: lastStream, reason: reason)
        }
        context.fireChannelRead(data)
    }

    /// What an error means for a request whose response has not begun.
    ///
    /// - Parameters:
    ///   - stream: The request's stream of HTTP/2, if it has one.
    ///   - hasInterim: Whether an interim response (1xx) came, so that the server has seen the request.
    func unanswered(_ error: any Error, on stream: HTTP2StreamID?, hasInterim: Bool) -> UnansweredRequest {
        let reset = (error as? NIOHTTP2Errors.StreamClosed)?.errorCode
        if reset == .http11Required { return UnansweredRequest(cause: error, repetition: .overHTTP1) }
        if reset == .refusedStream { return UnansweredRequest(cause: error, repetition: .always) }
        // NIO ends the streams that a GOAWAY leaves out as if they were cancelled, or with the connection.
        if let goAway, reset ?? .cancel == .cancel,
            stream.map({ $0 > goAway.lastStream }) ?? (error is NIOHTTP2Errors.CreatedStreamAfterGoaway)
        {
            // On a new connection a GOAWAY with an error is the answer to this very request.
            let isRepeatable = hasServed || goAway.reason == .noError
            return UnansweredRequest(cause: goAway, repetition: isRepeatable ? .always : .none)
        }
        guard reset == nil, !(error is HTTPParserError) else { return UnansweredRequest(cause: error, repetition: .none) }
        return UnansweredRequest(cause: goAway ?? error, repetition: hasServed && !hasInterim ? .ifIdempotent : .none)
    }
}

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
