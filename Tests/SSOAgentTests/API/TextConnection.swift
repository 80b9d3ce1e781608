import NIOCore
import NIOPosix

/// A connection to a Unix socket on which a test can send any text, whether or not it is HTTP.
final class TextConnection: Sendable {
    private let channel: any Channel
    private let received: EventLoopFuture<String>

    private init(_ channel: any Channel, received: EventLoopFuture<String>) {
        self.channel = channel
        self.received = received
    }

    /// Connects and sends the text, if any: a server that closes the connection at once would make even an empty write fail.
    static func open<Return>(
        _ path: String,
        sending text: String? = nil,
        reads: Bool = true,
        _ body: (TextConnection) async throws -> Return
    ) async throws -> Return {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: reads)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Collector(promise)) }
            }
            .connect(unixDomainSocketPath: path).get()
        let connection = TextConnection(channel, received: promise.futureResult)
        do {
            if let text { try await connection.send(text) }
            let result = try await body(connection)
            try? await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }

    /// Returns everything received until the other end closes the connection or a minute has passed.
    func answer() async throws -> String {
        let end = channel.eventLoop.scheduleTask(in: .seconds(60)) { [channel] in channel.close(promise: nil) }
        defer { end.cancel() }
        return try await received.get()
    }

    /// Closes the sending side and continues to read.
    func closeOutput() async throws { try await channel.close(mode: .output) }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<String>
        private var text = ""

        init(_ promise: EventLoopPromise<String>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { text += String(buffer: unwrapInboundIn(data)) }
        func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }
        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
