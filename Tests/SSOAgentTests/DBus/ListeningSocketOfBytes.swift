import NIOCore
import NIOPosix

/// Sends fixed bytes to each client as soon as it sends something, and closes the connection.
final class ListeningSocketOfBytes {
    private let path: String
    private let answer: [UInt8]
    private var channel: (any Channel)?

    init(path: String, answer: [UInt8]) throws {
        self.path = path
        self.answer = answer
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        let answer: [UInt8]

        init(_ answer: [UInt8]) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
            context.close(promise: nil)
        }
    }

    func start() async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [answer] channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler(answer)) }
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
    }

    func stop() async { try? await channel?.close().get() }
}
