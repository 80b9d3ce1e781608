import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Synchronization

/// Stands before a connection, or a stream of one: stamps each response, stops a request that is meant for another connection before a
/// byte of it is written, and reports whether a request that gets no response may be repeated.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private enum State {
        /// No request, or one whose response has begun.
        case idle
        /// The head of a request was written, and no byte of its response has come.
        case waiting
        /// Interim responses (1xx) have come.
        case interim
    }

    private let record: ConnectionRecord
    private let isStream: Bool
    private let pin: ConnectionPin?
    private var objection: ConnectionChange?
    private var state = State.idle

    /// - Parameter isStream: Whether it stands before a stream of HTTP/2.
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

    /// A server may close a connection that it kept at any time, and a request may be on its way then (RFC 9112 section 9.5).
    func channelInactive(context: ChannelHandlerContext) {
        if state != .idle { errorCaught(context: context, error: ChannelError.eof) }
        context.fireChannelInactive()
    }

    /// Whatever fails with a request on its way passes here, so that an error that did not is one of a request that was never written.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let before = state
        state = .idle
        guard before != .idle, !(error is ConnectionChange) else { return context.fireErrorCaught(error) }
        context.fireErrorCaught(record.unanswered(error, on: stream(context), hasInterim: before == .interim))
    }

    /// The number of the stream; nil before its head was sent. Other channels don't know the option.
    private func stream(_ context: ChannelHandlerContext) -> HTTP2StreamID? {
        guard isStream else { return nil }
        var stream: HTTP2StreamID?
        // Settled already: this is the channel's event loop.
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
    /// Ends a request of which nothing was written, and its connection or stream. In a turn of its own: the client is in the middle of
    /// sending.
    func abandonRequest(_ reason: ConnectionChange) {
        let context = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.execute {
            context.value.fireErrorCaught(reason)
            context.value.close(promise: nil)
        }
    }
}

/// What a client's connections must be for a request to go out over them.
final class ConnectionPin: Sendable {
    private let identity: ConnectionIdentity
    private let connection = Mutex<Int?>(nil)

    init(_ identity: ConnectionIdentity) { self.identity = identity }

    /// From now on only this connection will do; nil for any that shows the right certificate.
    func hold(_ number: Int?) { connection.withLock { $0 = number } }

    /// Why a request may not go out over a connection; nil when it may.
    func objection(to stamp: ConnectionStamp) -> ConnectionChange? {
        if identity.bindsChannel, stamp.channelBindings != identity.channelBindings { return .certificate(stamp.channelBindings) }
        if let held = connection.withLock({ $0 }), held != stamp.connection { return .connection }
        return nil
    }
}

extension HTTPClient.Configuration {
    /// Puts a ``ConnectionGuard`` before every connection and every stream.
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
    /// Changes the pipeline; where that fails nothing may go out. The future never fails, since the client would lose the connection then.
    fileprivate func closingOnFailure(
        _ change: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<Void> {
        eventLoop.submit {
            do { try change(self.pipeline.syncOperations) } catch { self.close(promise: nil) }
        }
    }
}
