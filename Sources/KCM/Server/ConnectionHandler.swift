internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One client connection: splits its bytes into requests and answers them in order, each when it is the connection's turn (``TurnQueue``).
///
/// Stops reading from the client while more than a few short requests are waiting or the client does not read its replies, so that a client
/// can delay only its own connection.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The number of waiting bytes up to which the next bytes are read.
    private static let readAhead = 4096

    let channel: any Channel
    /// Set while the handler is in the channel's pipeline.
    private var context: ChannelHandlerContext?
    let client: ConnectedClient
    private let service: Service
    private var requests: ReceivedRequests
    private var state = ConnectionState()
    /// Whether the connection waits for its turn.
    private var isQueued = false

    init(_ channel: any Channel, _ client: ConnectedClient, service: Service) {
        self.channel = channel
        self.client = client
        self.service = service
        // A refused client needs no room for a long request; libkrb5's first request is shorter than this.
        requests = ReceivedRequests(maximumLength: client.isGranted ? service.options.limits.requestBytes : 512)
    }

    /// Whether the client is waiting for a reply, or has sent part of a request.
    var isBusy: Bool { requests.waitingBytes > 0 || !hasSentAll }

    /// When the last complete request was taken up, or when the connection was accepted.
    var lastRequest: NIODeadline { requests.lastTaken }

    /// Whether the kernel has accepted all replies.
    var hasSentAll: Bool { ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) == 0 }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        // Stopping to read while each request waits for its turn would cost two system calls for each request.
        guard context.channel.isWritable, !requests.hasNext || requests.waitingBytes <= Self.readAhead, !requests.hasEnded else {
            return requests.isReadDue = true
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        requests.append(buffer.readableBytesView)
        buffer.wipeInPlace()
        countWaitingBytes()
        if !mayWait {
            requests.refuseUnfinished()
            countWaitingBytes()
        }
        continueProcessing(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        continueProcessing(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            requests.hasEnded = true
            continueProcessing(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        requests.removeUnfinished()
        countWaiting(requests.takeChange(closing: true))
        service.remove(self)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Queues the connection if a request is waiting; otherwise continues to read.
    private func continueProcessing(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, context.channel.isWritable, !isQueued else { return }
        if requests.hasNext {
            isQueued = true
            service.turns.queue(self, on: context.eventLoop)
        } else if requests.hasEnded {
            closeOnceAllIsSent(context)
        } else if requests.isReadDue {
            requests.isReadDue = false
            context.read()
        }
    }

    /// Answers one request, or executes a part of it, when it is this connection's turn. Returns whether there is more to do.
    func answerNext() -> Bool {
        isQueued = false
        guard let context, context.channel.isActive, context.channel.isWritable else { return false }
        do {
            guard var frame = try requests.next() else {
                // The rest of a request that is too long is skipped as it arrives.
                countWaitingBytes()
                continueProcessing(context)
                return false
            }
            countWaitingBytes()
            guard var reply = reply(to: frame) else {
                context.close(promise: nil)
                return false
            }
            if state.isUnfinished {
                requests.putBack(frame)
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
        guard context.channel.isActive, context.channel.isWritable, !isQueued, requests.hasNext else {
            continueProcessing(context)
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
        service.turns.countAnswer()
        switch client.access {
        case .refused(let code): return Reply(code: code)
        case .granted(let account):
            if let length = frame.refusedLength {
                return Reply(code: service.refusal(of: frame, length: length, from: client.peer, own: account))
            }
            // A long reply occupies memory while its client reads slowly, so it is not built when the memory limit is reached.
            let replyLimit = mayWait ? Reply.maximumBodyLength : 4096
            return service.reply(to: frame.bytes, from: client.peer, own: account, connection: &state, replyLimit: replyLimit)
        }
    }

    private var mayWait: Bool {
        let own = client.user.usage.waitingBytes
        return own <= service.options.limits.waitingBytes && service.users.use.mayWait(own: own)
    }

    private func countWaiting(_ change: Int) {
        client.user.countWaiting(change)
        service.users.use.waitingBytes += change
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

    private func countWaitingBytes() { countWaiting(requests.takeChange()) }
}

/// The client of a connection.
struct ConnectedClient {
    /// Whether the client's requests are executed.
    enum Access {
        case granted(UserAccount)
        /// Every request is answered with this code, because a connection that is only closed would give its user no reason.
        case refused(ReplyCode)
    }

    let peer: PeerCredential
    let user: UserConnections
    let access: Access

    /// Whether the client's requests are executed.
    var isGranted: Bool { if case .granted = access { true } else { false } }
}

/// The requests that a connection has received and not answered.
private struct ReceivedRequests {
    private var decoder: FrameDecoder
    /// The request of which only a part was executed in the last turn.
    private var unfinished: FrameDecoder.Frame?
    /// The bytes of incomplete and waiting requests, as last counted for the user.
    private var countedBytes = 0
    /// Whether the client has closed its sending side.
    var hasEnded = false
    /// Whether the channel waits to read more.
    var isReadDue = false
    /// When the last complete request was taken, at first the time of creation.
    private(set) var lastTaken = NIODeadline.now()

    init(maximumLength: Int) { decoder = FrameDecoder(maximumLength: maximumLength) }

    var hasNext: Bool { unfinished != nil || decoder.hasNext }

    var waitingBytes: Int { decoder.waitingBytes + (unfinished?.bytes.count ?? 0) }

    mutating func append(_ bytes: ByteBufferView) { decoder.append(bytes) }

    /// Refuses the request of which only a part has arrived.
    mutating func refuseUnfinished() { decoder.refuseUnfinished() }

    /// Removes and returns the next request; nil if none is complete.
    mutating func next() throws -> FrameDecoder.Frame? {
        guard let frame = try unfinished.take() ?? decoder.next() else { return nil }
        lastTaken = .now()
        return frame
    }

    /// Puts back a request of which only a part was executed.
    mutating func putBack(_ request: FrameDecoder.Frame) { unfinished = request }

    /// Wipes the request of which only a part was executed.
    mutating func removeUnfinished() {
        unfinished?.bytes.wipe()
        unfinished = nil
    }

    /// Returns by how much the waiting bytes have changed since the last call.
    ///
    /// - Parameter closing: Whether nothing waits any more, because the connection has closed.
    mutating func takeChange(closing: Bool = false) -> Int {
        let now = closing ? 0 : waitingBytes
        defer { countedBytes = now }
        return now - countedBytes
    }
}

extension Reply {
    /// Writes the reply: length, transport code, code, body.
    ///
    /// The transport code is always zero. For any other value libkrb5 returns immediately, leaves the rest of the reply in the socket, and
    /// reads it as the next reply.
    func write(to buffer: inout ByteBuffer) {
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
