import NIOCore
import NIOPosix
import Testing

@testable import SSOAgent

/// Another client of a bus, which can send arbitrary bytes.
struct ForeignBusClient {
    private let channel: any Channel
    private let handler: NIOLoopBound<DBusChannelHandler>
    private let name: String

    init(path: String) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let opened = loop.makePromise(of: Void.self)
        channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DBusChannelHandler(user: 0, opened: opened, signal: { _ in }))
                }
            }
            .connect(unixDomainSocketPath: path).get()
        handler = try await loop.submit { [channel] in
            NIOLoopBound(try channel.pipeline.syncOperations.handler(type: DBusChannelHandler.self), eventLoop: loop)
        }.get()
        try await opened.futureResult.get()
        name = try #require(try await Self.call("Hello", channel, handler).first?.string)
    }

    private static func call(_ member: String, _ channel: any Channel, _ handler: NIOLoopBound<DBusChannelHandler>) async throws
        -> [DBusValue]
    {
        let promise = channel.eventLoop.makePromise(of: DBusMessage.self)
        channel.eventLoop.execute { handler.value.send(.bus(member), timeout: .minutes(1), promise) }
        return try await promise.futureResult.get().values()
    }

    /// The names of the other connections. Messages sent before this call have reached them or are queued for them.
    func others() async throws -> Set<String> {
        let names = try await Self.call("ListNames", channel, handler).first?.list?.compactMap(\.string) ?? []
        return Set(names.filter { $0.hasPrefix(":") && $0 != name })
    }

    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get() }

    func close() async throws { try await channel.close().get() }
}
