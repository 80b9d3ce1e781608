import NIOCore
import NIOPosix

/// An empty server, which answers each request with the requested number of bytes: the minimum cost of a server on SwiftNIO.
struct FloorServer: Sendable {
    let path: String
    private let group: MultiThreadedEventLoopGroup

    static func start(path: String) async throws -> FloorServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        _ = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Handler()) }
            }
            .bind(unixDomainSocketPath: path)
            .get()
        return FloorServer(path: path, group: group)
    }

    func stop() async throws { try await group.shutdownGracefully() }

    /// A request is the length of the rest, the length of the response, and padding.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private var waiting = ByteBuffer()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var arrived = unwrapInboundIn(data)
            waiting.writeBuffer(&arrived)
            while let length: UInt32 = waiting.getInteger(at: waiting.readerIndex), waiting.readableBytes >= 4 + Int(length) {
                guard var request = waiting.readSlice(length: 4 + Int(length)),
                    let head = request.readMultipleIntegers(as: (UInt32, UInt32).self)
                else { return context.close(promise: nil) }
                var answer = context.channel.allocator.buffer(capacity: Int(head.1))
                answer.writeRepeatingByte(0, count: Int(head.1))
                context.writeAndFlush(wrapOutboundOut(answer), promise: nil)
            }
            waiting.discardReadBytes()
        }
    }
}
