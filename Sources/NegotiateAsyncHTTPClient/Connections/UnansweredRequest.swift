import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// A request whose head was sent, but which ended before the head of a response arrived.
struct UnansweredRequest: Error {
    /// Whether and how the request may be repeated.
    enum Repetition: Sendable {
        /// The request must not be repeated, because the server may have processed it.
        case none
        /// The connection had served before and closed without a byte of the response. The request may be repeated if its method is
        /// idempotent, because it is unknown whether the server received it (RFC 9110 section 9.2.2).
        case ifIdempotent
        /// The server states that it has not processed the request (RFC 9113 section 8.7). It may be repeated with any method.
        case always
        /// The server requires HTTP/1.1 for the request (RFC 9113 section 7, HTTP_1_1_REQUIRED).
        case overHTTP1
    }

    let cause: any Error
    let repetition: Repetition
}

/// An HTTP/2 connection that the server closed with a GOAWAY frame (RFC 9113 section 6.8).
struct ConnectionGoAway: Error {
    /// The last stream that the server may have processed.
    let lastStream: HTTP2StreamID
    let reason: HTTP2ErrorCode
}

/// The state of one connection, used only on its event loop. Over HTTP/2 it is in the connection's pipeline, where the streams find it.
final class ConnectionRecord: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    let stamp: ConnectionStamp
    /// Whether a response has arrived over it.
    var hasServed = false
    private var goAway: ConnectionGoAway?

    init(_ stamp: ConnectionStamp) { self.stamp = stamp }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .goAway(let lastStream, let reason, _) = unwrapInboundIn(data).payload {
            goAway = ConnectionGoAway(lastStream: lastStream, reason: reason)
        }
        context.fireChannelRead(data)
    }

    /// Classifies an error of a request whose response has not begun.
    ///
    /// - Parameters:
    ///   - stream: The request's HTTP/2 stream, if it has one.
    ///   - hasInterim: Whether an interim response (1xx) arrived, so that the server has received the request.
    func unanswered(_ error: any Error, on stream: HTTP2StreamID?, hasInterim: Bool) -> UnansweredRequest {
        let reset = (error as? NIOHTTP2Errors.StreamClosed)?.errorCode
        if reset == .http11Required { return UnansweredRequest(cause: error, repetition: .overHTTP1) }
        if reset == .refusedStream { return UnansweredRequest(cause: error, repetition: .always) }
        // NIO ends the streams beyond a GOAWAY's last one as if they were canceled, or with the connection.
        if let goAway, reset ?? .cancel == .cancel,
            stream.map({ $0 > goAway.lastStream }) ?? (error is NIOHTTP2Errors.CreatedStreamAfterGoaway)
        {
            // On a new connection a GOAWAY with an error is the reply to this request.
            let isRepeatable = hasServed || goAway.reason == .noError
            return UnansweredRequest(cause: goAway, repetition: isRepeatable ? .always : .none)
        }
        guard reset == nil, !(error is HTTPParserError) else { return UnansweredRequest(cause: error, repetition: .none) }
        return UnansweredRequest(cause: goAway ?? error, repetition: hasServed && !hasInterim ? .ifIdempotent : .none)
    }
}

extension HTTPClient {
    /// Sends a request once, over connections with a ``ConnectionGuard``. It needs no deadline, because the deadline of the whole call
    /// cancels the task.
    ///
    /// Throws ``ConnectionChange`` if the request must use another connection, `CancellationError`, or otherwise `HTTPTransportError`.
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
            // Any request may be repeated, because its body has not been read.
            throw ConnectionChange.unanswered(HTTPTransportError(ConnectionClosedBeforeRequest(cause: error), origin: origin))
        } catch {
            throw HTTPTransportError(error, origin: origin)
        }
    }
}

/// The pool assigned a request to a connection that was closing.
struct ConnectionClosedBeforeRequest: Error {
    let cause: any Error
}

extension Error {
    /// Whether AsyncHTTPClient assigned the request to a connection that had just closed. For a request that has been written the
    /// ``ConnectionGuard`` replaces this error, and a client that is shut down ends the call itself.
    fileprivate var isOfAnUnwrittenRequest: Bool {
        switch self {
        case let error as HTTPClientError: [.remoteConnectionClosed, .cancelled].contains(error)
        case let error as ChannelError: error == .ioOnClosedChannel
        default: false
        }
    }
}
