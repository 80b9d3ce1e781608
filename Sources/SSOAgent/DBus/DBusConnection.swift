internal import NIOCore
internal import NIOPosix

/// A connection to a message bus at a Unix socket.
final class DBusConnection: Sendable {
    private let channel: any Channel
    private let handler: NIOLoopBound<DBusChannelHandler>
    /// How long an answer may take.
    private static let timeout = TimeAmount.seconds(25)

    private init(_ channel: any Channel, _ handler: NIOLoopBound<DBusChannelHandler>) {
        self.channel = channel
        self.handler = handler
    }

    /// Connects and says who we are.
    ///
    /// - Parameters:
    ///   - path: The bus's socket.
    ///   - user: The number of the user who asks.
    ///   - signal: Gets each signal, on an event loop: it must not wait.
    ///   - closed: Called once when the connection is gone, on an event loop.
    /// - Throws: `DBusError`, or why nobody is there.
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

    /// Calls a method and returns what it returns.
    ///
    /// - Throws: `DBusError`.
    func call(_ call: DBusCall) async throws -> [DBusValue] {
        let promise = channel.eventLoop.makePromise(of: DBusMessage.self)
        channel.eventLoop.execute { [handler] in handler.value.send(call, timeout: Self.timeout, promise) }
        let answer = try await promise.futureResult.get()
        guard answer.kind != .error else { throw DBusError.failed(name: answer.errorName ?? "") }
        return try answer.values()
    }

    /// Ends the connection. From any thread.
    func close() { channel.close(promise: nil) }
}

extension DBusCall {
    /// A call of the bus's own.
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
