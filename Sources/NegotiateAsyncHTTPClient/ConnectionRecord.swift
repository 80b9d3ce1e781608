import NIOCore

/// Keeps an HTTP/2 connection's stamp where its streams find it.
final class ConnectionRecord: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    let stamp: ConnectionStamp

    init(_ stamp: ConnectionStamp) { self.stamp = stamp }
}
