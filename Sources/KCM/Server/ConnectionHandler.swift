internal import NIOCore

/// One client: cuts its bytes into requests and answers one after the other.
///
/// A client that does not read its replies is not read from either, so that it can make nothing but its own connection wait.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether a client is served.
    enum Access {
        case granted(UserAccount)
        /// Every request is answered by this code: a connection that is only closed tells its user nothing.
        case refused(ReplyCode)
    }

    let channel: any Channel
    let peer: PeerCredential
    private let user: UserConnections
    private let service: Service
    private let access: Access
    private var decoder: FrameDecoder
    private var state = ConnectionState()
    private var isAnswering = false
    private var isReadDue = false
    /// The decoder's waiting bytes, as they are counted for the user.
    private var countedBytes = 0
    /// When the last whole request was answered.
    private(set) var lastRequest = NIODeadline.now()

    init(channel: any Channel, peer: PeerCredential, user: UserConnections, service: Service, access: Access) {
        self.channel = channel
        self.peer = peer
        self.user = user
        self.service = service
        self.access = access
        // Who is refused anyway has no use for room: libkrb5's first request is shorter.
        let length = if case .granted = access { service.options.limits.requestBytes } else { 512 }
        decoder = FrameDecoder(maximumLength: length)
    }

    /// Whether it is served.
    var isGranted: Bool { if case .granted = access { true } else { false } }

    /// Whether the kernel has taken all replies.
    var hasSentAll: Bool { ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) == 0 }

    func read(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return isReadDue = true }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        decoder.append(buffer.readableBytesView)
        buffer.wipeInPlace()
        answer(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        answer(context)
        if context.channel.isWritable, isReadDue {
            isReadDue = false
            context.read()
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        countWaiting(-countedBytes)
        countedBytes = 0
        service.remove(self, of: user)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Answers the requests that have arrived, while the client reads the replies.
    private func answer(_ context: ChannelHandlerContext) {
        // A reply that is written may change the writability, which comes back here: the loop that is under way goes on.
        guard !isAnswering else { return }
        isAnswering = true
        defer { isAnswering = false }
        do {
            while context.channel.isActive, context.channel.isWritable, var frame = try decoder.next() {
                guard var reply = reply(to: frame) else { return context.close(promise: nil) }
                frame.wipe()
                send(reply, context)
                reply.wipe()
            }
            countWaitingBytes()
            if !mayWait {
                decoder.refuseUnfinished()
                countWaitingBytes()
            }
        } catch {
            context.close(promise: nil)
        }
    }

    private func reply(to frame: [UInt8]) -> Reply? {
        lastRequest = .now()
        service.answered += 1
        guard !frame.isEmpty else { return Reply(code: .limitReached) }
        switch access {
        case .refused(let code): return Reply(code: code)
        case .granted(let account):
            let reply = account.reply(to: frame, connection: &state)
            // A long one waits where its client reads slowly.
            return reply.map { $0.body.count <= 4096 || mayWait ? $0 : Reply(code: .limitReached) }
        }
    }

    private var mayWait: Bool {
        user.waitingBytes <= service.options.limits.waitingBytes && service.use.mayWait(own: user.waitingBytes)
    }

    private func countWaiting(_ change: Int) {
        user.waitingBytes += change
        service.use.waitingBytes += change
    }

    private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
        var buffer = service.emptyBuffer(context.channel.allocator)
        reply.write(to: &buffer)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        guard !hasSentAll else { return service.giveBack(buffer) }
        // The client is slow, or the reply long: the buffer is free when what follows it has been sent.
        let sent = context.eventLoop.makePromise(of: Void.self)
        let length = 8 + reply.body.count
        countWaiting(length)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            self.countWaiting(-length)
            self.service.giveBack(buffer)
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
    }

    private func countWaitingBytes() {
        countWaiting(decoder.waitingBytes - countedBytes)
        countedBytes = decoder.waitingBytes
    }
}

extension Reply {
    /// The same bytes as ``encoded()``, without a copy of the body on the way.
    fileprivate func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt32(truncatingIfNeeded: 4 + body.count))
        buffer.writeInteger(Int32(0))
        buffer.writeInteger(code.rawValue)
        buffer.writeBytes(body)
    }
}
