import HTTPNegotiate
import NIOCore
import NIOHTTP1

/// Stands before a connection, or a stream of one: stamps each response, stops a request that is meant for another connection before a
/// byte of it is written, and tells when a connection that was kept ends under a request.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let stamp: ConnectionStamp
    private let pin: ConnectionPin?
    private var objection: ConnectionChange?
    private var hasServed = false
    private var isWaiting = false

    init(_ stamp: ConnectionStamp, pin: ConnectionPin?) {
        self.stamp = stamp
        self.pin = pin
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        (hasServed, isWaiting) = (true, false)
        stamp.put(into: &head.headers)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// A server may close a connection that it kept at any time, and a request may be on its way then (RFC 9112 section 9.5).
    func channelInactive(context: ChannelHandlerContext) {
        if hasServed, isWaiting { errorCaught(context: context, error: ChannelError.eof) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(hasServed && isWaiting ? UnansweredRequest(cause: error) : error)
        isWaiting = false
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if objection == nil, case .head = unwrapOutboundIn(data) {
            isWaiting = true
            if let objection = pin?.objection(to: stamp) { refuse(objection, context) }
        }
        if let objection { promise?.fail(objection) } else { context.write(data, promise: promise) }
    }

    /// The connection is given up. The error follows in a turn of its own: the client is in the middle of sending.
    private func refuse(_ objection: ConnectionChange, _ context: ChannelHandlerContext) {
        self.objection = objection
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.execute {
            context.value.fireErrorCaught(objection)
            context.value.close(promise: nil)
        }
    }
}
