internal import NIOCore

/// Copies bytes between two connections on one event loop: with half-close and back-pressure, and without a task.
enum TunnelRelay {
    /// Takes two connections over, and closes both when both directions have ended, one fails, or nothing was transferred for a time.
    ///
    /// Bytes that were received and not used are forwarded first.
    static func start(client: MessageStream, server: MessageStream, idleTime: TimeAmount) async throws {
        let (left, right) = (client.handler, server.handler)
        try await client.channel.eventLoop.submit {
            let pair = RelayPair(idleTime: idleTime)
            let (fromClient, fromServer) = (left.value.received, right.value.received)
            let inputs = (left.value.isInputClosed, right.value.isInputClosed)
            let ends = (RelayHandler(pair), RelayHandler(pair))
            let channels = (client.channel, server.channel)
            try channels.0.pipeline.syncOperations.addHandler(ends.0)
            try channels.1.pipeline.syncOperations.addHandler(ends.1)
            // Not before, because an end that has no channel never drops its partner.
            (ends.0.partner, ends.1.partner) = (ends.1, ends.0)
            channels.0.pipeline.syncOperations.removeHandler(left.value, promise: nil)
            channels.1.pipeline.syncOperations.removeHandler(right.value, promise: nil)
            ends.1.send(fromClient)
            ends.0.send(fromServer)
            if inputs.0 { ends.0.inputClosed() } else { ends.0.readIfWanted() }
            if inputs.1 { ends.1.inputClosed() } else { ends.1.readIfWanted() }
            ends.0.watchIdleTime()
            ends.1.watchIdleTime()
        }.get()
    }
}

/// What both directions of a tunnel share.
private final class RelayPair {
    let idleTime: TimeAmount
    var lastTransfer = NIODeadline.now()

    init(idleTime: TimeAmount) { self.idleTime = idleTime }
}

/// One end of a tunnel.
private final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var partner: RelayHandler?
    private let pair: RelayPair
    private var context: ChannelHandlerContext?
    private var isInputClosed = false
    private var idleCheck: Scheduled<Void>?
    /// Whether reading waits until the partner can write.
    private var isReadPending = false

    init(_ pair: RelayPair) { self.pair = pair }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        idleCheck?.cancel()
        partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pair.lastTransfer = .now()
        partner?.context?.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        partner?.context?.flush()
        readIfWanted()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let partner, partner.isReadPending { partner.readIfWanted() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        closePartner()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        closePartner(isReset: error is IOError)
        context.close(promise: nil)
    }

    /// Reads once if the partner can write; otherwise when it can.
    func readIfWanted() {
        guard !isInputClosed, let context, let partner = partner?.context else { return }
        isReadPending = !partner.channel.isWritable
        if !isReadPending { context.read() }
    }

    /// Ends this direction. When both have ended, the connections close.
    func inputClosed() {
        guard !isInputClosed else { return }
        isInputClosed = true
        guard let partner, let context = partner.context else { return }
        let channel = context.channel
        // If the channel's input has ended too, this closes it at once, so the bytes that were written before must be sent first.
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(mode: .output, promise: nil) }
    }

    /// Sends bytes to this end's peer.
    func send(_ bytes: ByteBuffer) {
        if bytes.readableBytes > 0 { context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
    }

    func watchIdleTime() {
        guard let context else { return }
        let deadline = pair.lastTransfer + pair.idleTime
        idleCheck = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            guard self.pair.lastTransfer + self.pair.idleTime <= .now() else { return self.watchIdleTime() }
            self.context?.close(promise: nil)
        }
    }

    /// Closes the other connection.
    ///
    /// - Parameter isReset: Whether its peer must not take what it has received for everything.
    private func closePartner(isReset: Bool = false) {
        guard let channel = partner?.context?.channel else { return }
        partner = nil
        // Bytes that were received before the end are sent first; the idle time limits how long that takes.
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in isReset ? channel.reset() : channel.close(promise: nil) }
    }
}
