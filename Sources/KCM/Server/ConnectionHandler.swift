internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One client: cuts its bytes into requests and answers one after the other, each when it is this connection's turn (``TurnQueue``).
///
/// While requests wait, and while the client does not read its replies, nothing more is read from it, so that it can make nothing but its
/// own connection wait.
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
    /// While it is in the channel's pipeline.
    private var context: ChannelHandlerContext?
    let peer: PeerCredential
    let user: UserConnections
    private let service: Service
    private let access: Access
    private var decoder: FrameDecoder
    private var state = ConnectionState()
    private var isQueued = false
    private var isReadDue = false
    /// Whether the client sends no more.
    private var hasEnded = false
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

    /// Whether the client waits for an answer, or has sent a part of a request.
    var isBusy: Bool { decoder.waitingBytes > 0 || !hasSentAll }

    /// Whether the kernel has taken all replies.
    var hasSentAll: Bool { ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) == 0 }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        guard context.channel.isWritable, !decoder.hasNext, !hasEnded else { return isReadDue = true }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        decoder.append(buffer.readableBytesView)
        buffer.wipeInPlace()
        countWaitingBytes()
        if !mayWait {
            decoder.refuseUnfinished()
            countWaitingBytes()
        }
        goOn(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        goOn(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            hasEnded = true
            goOn(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        countWaiting(-countedBytes)
        countedBytes = 0
        service.remove(self, of: user)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Has the next request answered; where none waits, reads on.
    private func goOn(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, context.channel.isWritable, !isQueued else { return }
        if decoder.hasNext {
            isQueued = true
            service.queue(self, on: context.eventLoop)
        } else if hasEnded {
            closeOnceAllIsSent(context)
        } else if isReadDue {
            isReadDue = false
            context.read()
        }
    }

    /// Answers one request: it is this connection's turn. Returns whether it waits for another one.
    func answerNext() -> Bool {
        isQueued = false
        guard let context, context.channel.isActive, context.channel.isWritable else { return false }
        do {
            guard var frame = try decoder.next() else {
                // Of a request that is too long the rest is skipped as it comes.
                countWaitingBytes()
                goOn(context)
                return false
            }
            countWaitingBytes()
            guard var reply = reply(to: frame) else {
                context.close(promise: nil)
                return false
            }
            frame.bytes.wipe()
            send(reply, context)
            reply.wipe()
        } catch {
            context.close(promise: nil)
            return false
        }
        // A reply that is written may change the writability, by which it may have been queued already.
        guard context.channel.isActive, context.channel.isWritable, !isQueued, decoder.hasNext else {
            goOn(context)
            return false
        }
        isQueued = true
        return true
    }

    private func closeOnceAllIsSent(_ context: ChannelHandlerContext) {
        let sent = context.eventLoop.makePromise(of: Void.self)
        let channel = context.channel
        sent.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
    }

    private func reply(to frame: FrameDecoder.Frame) -> Reply? {
        lastRequest = .now()
        service.answered += 1
        switch access {
        case .refused(let code): return Reply(code: code)
        case .granted(let account):
            if let operation = frame.refusedOperation {
                // Without REPLACE libkrb5 stores the tickets one by one.
                return Reply(code: operation == Operation.replace.rawValue ? .unsupported : .limitReached)
            }
            // A long reply waits where its client reads slowly, and is not made where it may not.
            let replyLimit = mayWait ? Reply.maximumBodyLength : 4096
            return service.reply(to: frame.bytes, from: peer, own: account, connection: &state, replyLimit: replyLimit)
        }
    }

    private var mayWait: Bool {
        let own = user.holding.waitingBytes
        return own <= service.options.limits.waitingBytes && service.use.mayWait(own: own)
    }

    private func countWaiting(_ change: Int) {
        user.countWaiting(change)
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

extension ByteBuffer {
    /// Overwrites what can be read with zeros, in the memory itself: NIO's pool has the buffer too and gives it to the next connection.
    ///
    /// Nobody else may still want the bytes.
    func wipeInPlace() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
