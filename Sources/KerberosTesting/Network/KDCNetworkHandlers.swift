import NIOCore

/// A client's TCP connection: a request after the other.
final class StreamClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let network: KDCNetwork

    init(network: KDCNetwork) { self.network = network }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = context.channel
        network.outcome(of: unwrapInboundIn(data), over: .tcp).whenComplete { result in
            switch result {
            case .success(.reply(let reply)):
                let sent = channel.writeAndFlush(reply.framed())
                if reply.isCut { sent.whenComplete { _ in channel.close(promise: nil) } }
            case .success(.silence): break
            case .success(.lost), .failure: channel.close(promise: nil)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// The UDP port at which all clients send.
final class DatagramClientHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let network: KDCNetwork

    init(network: KDCNetwork) { self.network = network }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let channel = context.channel
        network.outcome(of: envelope.data, over: .udp).whenSuccess { outcome in
            guard case .reply(let reply) = outcome else { return }
            channel.writeAndFlush(AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: reply.bytes), promise: nil)
        }
    }

    /// A client that is gone leaves an error for the next call; the port stays open.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

/// The first message of a connection to the KDC, which ends with it.
final class StreamReplyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reply.succeed(unwrapInboundIn(data))
        context.close(promise: nil)
    }

    /// The KDC closes its half where it has no answer.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { reply.fail(ChannelError.eof) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reply.fail(error)
        context.close(promise: nil)
    }
}

/// The first datagram that the KDC sends back.
final class DatagramReplyHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let reply: EventLoopPromise<ByteBuffer>

    init(_ reply: EventLoopPromise<ByteBuffer>) { self.reply = reply }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reply.succeed(unwrapInboundIn(data).data)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { reply.fail(ChannelError.eof) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reply.fail(error)
        context.close(promise: nil)
    }
}
