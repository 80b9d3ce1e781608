import NIOCore
import NIOHPACK
import NIOHTTP2

/// Keeps the `Authorization` field of a stream out of every compression table on its way (RFC 7541 section 7.1.3).
final class SensitiveFields: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .headers(var frame) = unwrapOutboundIn(data), frame.headers.contains(name: "authorization") else {
            return context.write(data, promise: promise)
        }
        var headers = HPACKHeaders()
        for (name, value, indexing) in frame.headers {
            headers.add(name: name, value: value, indexing: name == "authorization" ? .neverIndexed : indexing)
        }
        frame.headers = headers
        context.write(wrapOutboundOut(.headers(frame)), promise: promise)
    }
}
