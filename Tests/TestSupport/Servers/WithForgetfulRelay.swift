internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Runs a closure with a local port that forwards the first connection to another port, and reads from later connections without answering,
/// like a server that fails in the middle of an exchange.
nonisolated(nonsending) public func withForgetfulRelay<R>(
    to port: Int,
    _ body: nonisolated(nonsending) (Int) async throws -> R
) async throws -> R {
    let count = ConnectionCount()
    let group = MultiThreadedEventLoopGroup.singleton
    let server = try await ServerBootstrap(group: group)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
            guard count.next() == 1 else { return channel.setOption(.autoRead, value: true) }
            return ClientBootstrap(group: channel.eventLoop)
                .channelInitializer { upstream in
                    upstream.eventLoop.makeCompletedFuture { try upstream.pipeline.syncOperations.addHandler(PassingHandler(to: channel)) }
                }
                .connect(host: "127.0.0.1", port: port)
                .flatMap { upstream in
                    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(PassingHandler(to: upstream)) }
                        .flatMap { channel.setOption(.autoRead, value: true) }
                }
        }
        .bind(host: "127.0.0.1", port: 0).get()
    let result: Result<R, any Error>
    do { result = .success(try await body(server.localAddress?.port ?? 0)) } catch { result = .failure(error) }
    try await server.close()
    return try result.get()
}

private final class ConnectionCount: Sendable {
    private let count = Atomic(0)
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

private final class PassingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let other: any Channel

    init(to other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { other.writeAndFlush(unwrapInboundIn(data), promise: nil) }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
}
