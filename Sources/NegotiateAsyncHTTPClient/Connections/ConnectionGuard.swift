import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Synchronization

/// A channel handler on a connection or a stream. It stamps each response, stops a request for another connection before any byte of it is
/// written, and reports whether a request without a response may be repeated.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private enum State {
        /// There is no request, or its response has begun.
        case idle
        /// The head of a request has been written, and no byte of its response has arrived.
        case waiting
        /// Only interim responses (1xx) have arrived.
        case interim
    }

    private let record: ConnectionRecord
    private let isStream: Bool
    private let pin: ConnectionPin?
    private var objection: ConnectionChange?
    private var state = State.idle

    /// Creates a handler.
    ///
    /// - Parameter isStream: Whether it is in the pipeline of an HTTP/2 stream.
    init(_ record: ConnectionRecord, isStream: Bool, pin: ConnectionPin?) {
        self.record = record
        self.isStream = isStream
        self.pin = pin
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        if 100..<200 ~= head.status.code {
            state = .interim
        } else {
            (record.hasServed, state) = (true, .idle)
        }
        record.stamp.put(into: &head.headers)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// A server may close an idle connection at any time, also while a request is on its way (RFC 9112 section 9.5).
    func channelInactive(context: ChannelHandlerContext) {
        if state != .idle { errorCaught(context: context, error: ChannelError.eof) }
        context.fireChannelInactive()
    }

    /// Every error of a request that has been written passes through here. So an error that has not done so belongs to a request that was
    /// never written.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let before = state
        state = .idle
        guard before != .idle, !(error is ConnectionChange) else { return context.fireErrorCaught(error) }
        context.fireErrorCaught(record.unanswered(error, on: stream(context), hasInterim: before == .interim))
    }

    /// Returns the number of the stream; nil before its head was sent. Other channels do not support the option.
    private func stream(_ context: ChannelHandlerContext) -> HTTP2StreamID? {
        guard isStream else { return nil }
        var stream: HTTP2StreamID?
        // Completes immediately on the channel's event loop.
        context.channel.getOption(HTTP2StreamChannelOptions.streamID).assumeIsolated().whenSuccess { stream = $0 }
        return stream
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if objection == nil, case .head = unwrapOutboundIn(data) {
            state = .waiting
            objection = pin?.objection(to: record.stamp)
            if let objection { context.abandonRequest(objection) }
        }
        if let objection { promise?.fail(objection) } else { context.write(data, promise: promise) }
    }
}

extension ChannelHandlerContext {
    /// Ends a request of which nothing was written, and its connection or stream. Runs in a separate task of the event loop, because the
    /// client is in the middle of sending.
    func abandonRequest(_ reason: ConnectionChange) {
        let context = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute {
            context.value.fireErrorCaught(reason)
            context.value.close(promise: nil)
        }
    }
}

/// The requirements on a connection for a request to be sent over it.
final class ConnectionPin: Sendable {
    private let identity: ConnectionIdentity
    private let connection = Mutex<Int?>(nil)

    init(_ identity: ConnectionIdentity) { self.identity = identity }

    /// From now on permits only this connection; nil permits any with the right certificate.
    func hold(_ number: Int?) { connection.withLock { $0 = number } }

    /// Returns the reason why a request must not be sent over a connection; nil if it may.
    func objection(to stamp: ConnectionStamp) -> ConnectionChange? {
        if identity.bindsChannel, stamp.channelBindings != identity.channelBindings { return .certificate(stamp.channelBindings) }
        if let held = connection.withLock({ $0 }), held != stamp.connection { return .connection }
        return nil
    }
}

extension HTTPClient.Configuration {
    /// Adds a ``ConnectionGuard`` to every connection and every stream.
    mutating func guardConnections(_ pin: ConnectionPin?) {
        http1_1ConnectionDebugInitializer = { channel in
            channel.closingOnFailure { pipeline in
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(
                    ConnectionGuard(ConnectionRecord(ConnectionStamp(channel)), isStream: false, pin: pin),
                    position: .after(decoder)
                )
            }
        }
        http2ConnectionDebugInitializer = { channel in
            channel.closingOnFailure { try $0.addHandler(ConnectionRecord(ConnectionStamp(channel))) }
        }
        http2StreamChannelDebugInitializer = { stream in
            stream.closingOnFailure { pipeline in
                guard let connection = stream.parent else { throw ChannelError.inappropriateOperationForState }
                let record = try connection.pipeline.syncOperations.handler(type: ConnectionRecord.self)
                let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
                try pipeline.addHandler(ConnectionGuard(record, isStream: true, pin: pin), position: .after(codec))
                try pipeline.addHandler(SensitiveFields(), position: .before(codec))
                try pipeline.addHandler(HeaderBlockLimit(), position: .before(codec))
            }
        }
    }
}

extension Channel {
    /// Changes the pipeline; closes the channel if that fails, so that nothing is sent. The future never fails, because the client would
    /// then lose track of the connection.
    fileprivate func closingOnFailure(
        _ change: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<Void> {
        eventLoop.submit {
            do { try change(self.pipeline.syncOperations) } catch { self.close(promise: nil) }
        }
    }
}
