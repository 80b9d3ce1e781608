internal import NIOCore
internal import NIOPosix

/// A connection to a message bus at a Unix socket.
final class DBusConnection: Sendable {
    private let channel: any Channel
    private let handler: NIOLoopBound<DBusChannelHandler>
    /// The time limit for a reply.
    private static let timeout = TimeAmount.seconds(25)

    private init(_ channel: any Channel, _ handler: NIOLoopBound<DBusChannelHandler>) {
        self.channel = channel
        self.handler = handler
    }

    /// Connects to a bus and authenticates.
    ///
    /// - Parameters:
    ///   - path: The path of the bus's socket.
    ///   - user: The ID of the user to authenticate as.
    ///   - signal: Receives each signal on an event loop; it must not block.
    ///   - closed: Called once on an event loop when the connection has closed.
    /// - Throws: `DBusError`, or the error of the connection attempt.
    static func open(
        path: String,
        user: UInt32,
        signal: @escaping @Sendable (DBusMessage) -> Void,
        closed: @escaping @Sendable () -> Void
    ) async throws -> DBusConnection {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let opened = loop.makePromise(of: Void.self)
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(.seconds(10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DBusChannelHandler(user: user, opened: opened, signal: signal))
                }
            }
        do {
            let channel = try await bootstrap.connect(unixDomainSocketPath: path).get()
            let handler = try await loop.submit {
                NIOLoopBound(try channel.pipeline.syncOperations.handler(type: DBusChannelHandler.self), eventLoop: loop)
            }.get()
            channel.closeFuture.whenComplete { _ in closed() }
            let connection = DBusConnection(channel, handler)
            let limit = loop.scheduleTask(in: timeout) { channel.close(promise: nil) }
            defer { limit.cancel() }
            try await withTaskCancellationHandler {
                try await opened.futureResult.get()
                _ = try await connection.call(.bus("Hello"))
            } onCancel: {
                channel.close(promise: nil)
            }
            return connection
        } catch {
            opened.fail(error)
            throw error
        }
    }

    /// Calls a method and returns its results.
    ///
    /// - Throws: `DBusError`.
    func call(_ call: DBusCall) async throws -> [DBusValue] {
        let promise = channel.eventLoop.makePromise(of: DBusMessage.self)
        channel.eventLoop.execute { [handler] in handler.value.send(call, timeout: Self.timeout, promise) }
        let answer = try await promise.futureResult.get()
        guard answer.kind != .error else { throw DBusError.failed(name: answer.errorName ?? "") }
        return try answer.values()
    }

    /// Closes the connection. Can be called from any thread.
    func close() { channel.close(promise: nil) }
}

extension DBusCall {
    /// Creates a call to the bus itself.
    static func bus(_ member: String, _ arguments: String...) -> DBusCall {
        DBusCall(
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: member,
            arguments: arguments
        )
    }
}

/// Authenticates on a bus connection, sends calls, and delivers replies and signals. Confined to its event loop.
final class DBusChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let opened: EventLoopPromise<Void>
    private let signal: @Sendable (DBusMessage) -> Void
    private var context: ChannelHandlerContext?
    private var authentication: DBusAuthentication
    private var decoder = DBusFrameDecoder()
    private var calls = PendingCalls()

    init(user: UInt32, opened: EventLoopPromise<Void>, signal: @escaping @Sendable (DBusMessage) -> Void) {
        authentication = DBusAuthentication(user: user)
        self.opened = opened
        self.signal = signal
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { write(authentication.request, context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        end()
    }

    func channelActive(context: ChannelHandlerContext) { write(authentication.request, context) }

    func channelInactive(context: ChannelHandlerContext) { end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Array(unwrapInboundIn(data).readableBytesView)[...]
        if !authentication.isDone { finishAuthentication(&bytes, context) }
        guard authentication.isDone else { return }
        decoder.append(bytes)
        do {
            while let message = try decoder.next() { take(message) }
        } catch {
            context.close(promise: nil)
        }
    }

    /// Sends a call. The promise receives the reply, which may be an error message of the other side.
    func send(_ call: DBusCall, timeout: TimeAmount, _ promise: EventLoopPromise<DBusMessage>) {
        guard let context, authentication.isDone else { return promise.fail(DBusError.closed) }
        let serial = calls.add(promise)
        context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.calls.remove(serial)?.fail(DBusError.timedOut) }
        write(call.encoded(serial: serial), context)
    }

    private func finishAuthentication(_ bytes: inout ArraySlice<UInt8>, _ context: ChannelHandlerContext) {
        do {
            guard try authentication.read(&bytes) else { return }
            write(Array("BEGIN\r\n".utf8), context)
            opened.succeed()
        } catch {
            opened.fail(error)
            context.close(promise: nil)
        }
    }

    private func take(_ message: DBusMessage) {
        switch message.kind {
        case .signal: signal(message)
        case .methodReturn, .error: message.replySerial.flatMap { calls.remove($0) }?.succeed(message)
        // This process offers no methods. Calls are ignored.
        case .methodCall, nil: break
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
    }

    private func end() {
        opened.fail(DBusError.closed)
        for promise in calls.removeAll() { promise.fail(DBusError.closed) }
    }
}

/// The calls that wait for their replies.
private struct PendingCalls {
    private var lastSerial: UInt32 = 0
    private var promises: [UInt32: EventLoopPromise<DBusMessage>] = [:]

    /// Adds a call and returns its serial number, which is never 0.
    mutating func add(_ promise: EventLoopPromise<DBusMessage>) -> UInt32 {
        lastSerial = lastSerial == .max ? 1 : lastSerial + 1
        promises[lastSerial] = promise
        return lastSerial
    }

    mutating func remove(_ serial: UInt32) -> EventLoopPromise<DBusMessage>? { promises.removeValue(forKey: serial) }

    mutating func removeAll() -> [EventLoopPromise<DBusMessage>] {
        defer { promises = [:] }
        return Array(promises.values)
    }
}
