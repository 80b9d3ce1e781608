internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One client connection: splits its bytes into requests and answers them in order, each when it is the connection's turn (``TurnQueue``).
///
/// Stops reading from the client while requests are waiting or the client does not read its replies, so that a client can delay only its
/// own connection.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Whether the client's requests are executed.
    enum Access {
        case granted(UserAccount)
        /// Every request is answered with this code, because a connection that is only closed would give its user no reason.
        case refused(ReplyCode)
    }

    let channel: any Channel
    /// Set while the handler is in the channel's pipeline.
    private var context: ChannelHandlerContext?
    let peer: PeerCredential
    let user: UserConnections
    private let service: Service
    private let access: Access
    private var decoder: FrameDecoder
    private var state = ConnectionState()
    /// The request of which only a part was executed in the last turn.
    private var unfinished: FrameDecoder.Frame?
    private var isQueued = false
    private var isReadDue = false
    /// Whether the client has closed its sending side.
    private var hasEnded = false
    /// The bytes of incomplete and waiting requests, as last counted for the user.
    private var countedBytes = 0
    /// When the last complete request was taken up, or when the connection was accepted.
    private(set) var lastRequest = NIODeadline.now()

    init(channel: any Channel, peer: PeerCredential, user: UserConnections, service: Service, access: Access) {
        self.channel = channel
        self.peer = peer
        self.user = user
        self.service = service
        self.access = access
        // A refused client needs no room for a long request; libkrb5's first request is shorter than this.
        let length = if case .granted = access { service.options.limits.requestBytes } else { 512 }
        decoder = FrameDecoder(maximumLength: length)
    }

    /// Whether the client's requests are executed.
    var isGranted: Bool { if case .granted = access { true } else { false } }

    /// Whether the client is waiting for a reply, or has sent part of a request.
    var isBusy: Bool { waitingBytes > 0 || !hasSentAll }

    private var hasNext: Bool { unfinished != nil || decoder.hasNext }

    private var waitingBytes: Int { decoder.waitingBytes + (unfinished?.bytes.count ?? 0) }

    /// Whether the kernel has accepted all replies.
    var hasSentAll: Bool { ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) == 0 }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        guard context.channel.isWritable, !hasNext, !hasEnded else { return isReadDue = true }
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
        unfinished?.bytes.wipe()
        unfinished = nil
        service.remove(self, of: user)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Queues the connection if a request is waiting; otherwise continues to read.
    private func goOn(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, context.channel.isWritable, !isQueued else { return }
        if hasNext {
            isQueued = true
            service.queue(self, on: context.eventLoop)
        } else if hasEnded {
            closeOnceAllIsSent(context)
        } else if isReadDue {
            isReadDue = false
            context.read()
        }
    }

    /// Answers one request, or executes a part of it, when it is this connection's turn. Returns whether there is more to do.
    func answerNext() -> Bool {
        isQueued = false
        guard let context, context.channel.isActive, context.channel.isWritable else { return false }
        do {
            guard var frame = try unfinished.take() ?? decoder.next() else {
                // The rest of a request that is too long is skipped as it arrives.
                countWaitingBytes()
                goOn(context)
                return false
            }
            countWaitingBytes()
            guard var reply = reply(to: frame) else {
                context.close(promise: nil)
                return false
            }
            if state.isUnfinished {
                unfinished = frame
                countWaitingBytes()
            } else {
                frame.bytes.wipe()
                send(reply, context)
                reply.wipe()
            }
        } catch {
            context.close(promise: nil)
            return false
        }
        // Writing the reply may have changed the writability, and the connection may have been queued by that.
        guard context.channel.isActive, context.channel.isWritable, !isQueued, hasNext else {
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
            if let length = frame.refusedLength {
                return Reply(code: service.refusal(of: frame, length: length, from: peer, own: account))
            }
            // A long reply occupies memory while its client reads slowly, so it is not built when the memory limit is reached.
            let replyLimit = mayWait ? Reply.maximumBodyLength : 4096
            return service.reply(to: frame.bytes, from: peer, own: account, connection: &state, replyLimit: replyLimit)
        }
    }

    private var mayWait: Bool {
        let own = user.usage.waitingBytes
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
        // The client is slow or the reply is long. The buffer is free once the empty write after it has completed.
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
        countWaiting(waitingBytes - countedBytes)
        countedBytes = waitingBytes
    }
}

extension Reply {
    /// Writes the same bytes as ``encoded()`` without an intermediate copy of the body.
    fileprivate func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(UInt32(truncatingIfNeeded: 4 + body.count))
        buffer.writeInteger(Int32(0))
        buffer.writeInteger(code.rawValue)
        buffer.writeBytes(body)
    }
}

extension ByteBuffer {
    /// Overwrites the readable bytes with zeros in place, because NIO's pool shares the buffer and gives it to the next connection.
    ///
    /// Call it only when no other code needs the bytes.
    func wipeInPlace() {
        unsafe withUnsafeReadableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: start), bytes.count)
        }
    }
}
