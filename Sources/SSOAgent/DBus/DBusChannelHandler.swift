internal import NIOCore

/// One connection to a bus: says who we are, sends calls, and hands on the answers and the signals. On its event loop alone.
final class DBusChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let user: UInt32
    private let opened: EventLoopPromise<Void>
    private let signal: @Sendable (DBusMessage) -> Void
    private var context: ChannelHandlerContext?
    private var isAuthenticated = false
    private var line: [UInt8] = []
    private var decoder = DBusFrameDecoder()
    private var serial: UInt32 = 0
    private var waiting: [UInt32: EventLoopPromise<DBusMessage>] = [:]

    init(user: UInt32, opened: EventLoopPromise<Void>, signal: @escaping @Sendable (DBusMessage) -> Void) {
        self.user = user
        self.opened = opened
        self.signal = signal
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { introduce(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        end()
    }

    func channelActive(context: ChannelHandlerContext) { introduce(context) }

    func channelInactive(context: ChannelHandlerContext) { end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Array(unwrapInboundIn(data).readableBytesView)[...]
        if !isAuthenticated { finishAuthentication(&bytes, context) }
        guard isAuthenticated else { return }
        decoder.append(bytes)
        do {
            while let message = try decoder.next() { take(message) }
        } catch {
            context.close(promise: nil)
        }
    }

    /// Sends a call; the promise gets the answer, an error of the other side's too.
    func send(_ call: DBusCall, timeout: TimeAmount, _ promise: EventLoopPromise<DBusMessage>) {
        guard let context, isAuthenticated else { return promise.fail(DBusError.closed) }
        serial = serial == .max ? 1 : serial + 1
        let number = serial
        waiting[number] = promise
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.waiting.removeValue(forKey: number)?.fail(DBusError.timedOut) }
        write(call.encoded(serial: number), context)
    }

    /// The user's number in decimal, each letter in hexadecimal: the EXTERNAL mechanism, in which the kernel vouches for it.
    private func introduce(_ context: ChannelHandlerContext) {
        let hex = Array(String(user).utf8).map { String($0, radix: 16) }.joined()
        write([0] + Array("AUTH EXTERNAL \(hex)\r\n".utf8), context)
    }

    private func finishAuthentication(_ bytes: inout ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
        while let byte = bytes.popFirst() {
            line.append(byte)
            guard line.count <= 1024 else { return context.close(promise: nil) }
            guard byte == UInt8(ascii: "\n") else { continue }
            guard line.starts(with: "OK ".utf8) else {
                opened.fail(DBusError.refused)
                return context.close(promise: nil)
            }
            write(Array("BEGIN\r\n".utf8), context)
            isAuthenticated = true
            return opened.succeed()
        }
    }

    private func take(_ message: DBusMessage) {
        switch message.kind {
        case .signal: signal(message)
        case .methodReturn, .error: message.replySerial.flatMap { waiting.removeValue(forKey: $0) }?.succeed(message)
        // Nobody has anything to ask of us; who asks all the same waits in vain.
        case .methodCall, nil: break
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    private func end() {
        opened.fail(DBusError.closed)
        let promises = waiting.values
        waiting = [:]
        for promise in promises { promise.fail(DBusError.closed) }
    }
}
