internal import NIOCore

/// One client: cuts its bytes into requests and answers one after the other.
///
/// A client that does not read its replies is not read from either, so that it can make nothing but its own connection wait.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let channel: any Channel
    private let account: UserAccount
    private let service: Service
    /// What every request is answered; nil for a client that is served.
    private let refusal: ReplyCode?
    private var decoder: FrameDecoder
    private var state = ConnectionState()
    private var isAnswering = false
    private var isReadDue = false
    /// The decoder's waiting bytes, as they are counted in the account.
    private var countedBytes = 0
    /// When the last whole request was answered.
    private(set) var lastRequest = NIODeadline.now()

    init(channel: any Channel, account: UserAccount, service: Service, refusal: ReplyCode?) {
        self.channel = channel
        self.account = account
        self.service = service
        self.refusal = refusal
        decoder = FrameDecoder(maximumLength: service.options.limits.requestBytes)
    }

    /// Whether the kernel has taken all replies.
    var hasSentAll: Bool { ((try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0) == 0 }

    func read(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return isReadDue = true }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        decoder.append(buffer.readableBytesView)
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
        account.waitingBytes -= countedBytes
        countedBytes = 0
        service.remove(self, account: account)
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
            while context.channel.isActive, context.channel.isWritable, let frame = try decoder.next() {
                guard let reply = reply(to: frame) else { return context.close(promise: nil) }
                send(reply, context)
            }
            countWaitingBytes()
        } catch {
            context.close(promise: nil)
        }
    }

    private func reply(to frame: [UInt8]) -> Reply? {
        lastRequest = .now()
        service.answered += 1
        if let refusal { return Reply(code: refusal) }
        return account.reply(to: frame, connection: &state)
    }

    private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 12 + reply.body.count)
        reply.write(to: &buffer)
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    private func countWaitingBytes() {
        account.waitingBytes += decoder.waitingBytes - countedBytes
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
