import AsyncHTTPClient
import HTTPNegotiate
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The encoded head of a request in HTTP/2 (RFC 7541).
///
/// NIO sends a head in one HEADERS frame, without CONTINUATION, and drops one that does not fit; AsyncHTTPClient does not notice this and
/// waits. So a head that may not fit is sent over HTTP/1.1.
enum HeaderBlock {
    /// The frame size that every peer must accept (RFC 9113 section 4.2). A server may announce a larger one, which is not relied on.
    private static let frameSize = 16_384
    /// Space for the fields that AsyncHTTPClient adds, such as `:authority` and `content-length`, and those of a tracer.
    private static let reserve = 1_024
    /// The longest Huffman code of a byte in bits (RFC 7541 appendix B).
    private static let longestCode = 30

    /// Whether a request, with the fields that AsyncHTTPClient adds, fits in an HTTP/2 frame.
    static func fits(_ request: HTTPClientRequest) -> Bool {
        var headers = HPACKHeaders([(":path", request.url)])
        for (name, value) in request.headers { headers.add(name: name.lowercased(), value: value) }
        return fits(headers, within: frameSize - reserve)
    }

    /// Whether a head fits in one frame.
    static func fits(_ headers: HPACKHeaders) -> Bool { fits(headers, within: frameSize) }

    /// Whether the encoded size is within a limit, whatever the dynamic table contains.
    private static func fits(_ headers: HPACKHeaders, within limit: Int) -> Bool {
        // For indexes, lengths, and a change of the table's size.
        let overhead = 16 + 16 * headers.count
        let plain = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        if plain * longestCode / 8 + overhead <= limit { return true }
        // A field outside any table has the longest encoding.
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        do {
            try encoder.beginEncoding(allocator: ByteBufferAllocator())
            for field in headers { try encoder.appendNonIndexed(header: field.name, value: field.value) }
            return try encoder.endEncoding().readableBytes + 16 + 2 * headers.count <= limit
        } catch {
            return false
        }
    }
}

/// Stops a head that does not fit in a frame before it reaches the connection's encoder, whose dynamic table would become inconsistent.
final class HeaderBlockLimit: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private var isExceeded = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if !isExceeded, case .headers(let frame) = unwrapOutboundIn(data), !HeaderBlock.fits(frame.headers) {
            isExceeded = true
            context.abandonRequest(.protocolVersion)
        }
        if isExceeded { promise?.fail(ConnectionChange.protocolVersion) } else { context.write(data, promise: promise) }
    }
}

/// Keeps the `Authorization` field out of every compression table on its way (RFC 7541 section 7.1.3).
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
