import NIOCore
import NIOPosix

@testable import KCM

/// A client's connection to a server, on which a test can send arbitrary bytes.
struct KCMConnection {
    fileprivate var parts: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    fileprivate let output: NIOAsyncChannelOutboundWriter<ByteBuffer>
    let channel: any Channel
    private var received = ByteBuffer()

    fileprivate init(
        parts: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        output: NIOAsyncChannelOutboundWriter<ByteBuffer>,
        channel: any Channel
    ) {
        self.parts = parts
        self.output = output
        self.channel = channel
    }

    nonisolated(nonsending) func send(_ bytes: [UInt8]) async throws { try await output.write(ByteBuffer(bytes: bytes)) }

    /// Returns the next reply, or nil if the server closes the connection instead.
    nonisolated(nonsending) mutating func reply() async throws -> Reply? {
        while true {
            if let length = received.getInteger(at: received.readerIndex, as: UInt32.self), received.readableBytes >= 8 + Int(length) {
                received.moveReaderIndex(forwardBy: 8)
                let code = ReplyCode(rawValue: received.readInteger() ?? .min)
                let body = received.readBytes(length: Int(length) - 4) ?? []
                received.discardReadBytes()
                return code == .ok ? Reply(body: body) : Reply(code: code)
            }
            do {
                guard var part = try await parts.next(isolation: #isolation) else { return nil }
                received.writeBuffer(&part)
            } catch is IOError {
                // The server closed the connection with requests unread.
                return nil
            }
        }
    }

    /// Sends a request and returns its reply, or nil if the server closes the connection instead.
    nonisolated(nonsending) mutating func request(_ operation: KCM.Operation, _ name: String? = nil, _ body: [UInt8] = []) async throws
        -> Reply?
    {
        try await send(requestBytes(operation, name, body))
        return try await reply()
    }

    nonisolated(nonsending) mutating func code(_ operation: KCM.Operation, _ name: String? = nil, _ body: [UInt8] = []) async throws
        -> ReplyCode?
    {
        try await request(operation, name, body)?.code
    }
}

/// A request with its length prefix.
func requestBytes(_ operation: KCM.Operation, _ name: String? = nil, _ body: [UInt8] = []) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(UInt16(0x0200))
    writer.write(operation.rawValue)
    if let name { writer.write(CacheName(name).terminated) }
    writer.write(body)
    var frame = ByteWriter()
    frame.writeCounted(writer.bytes)
    return frame.bytes
}

/// Runs a closure with a connection to a server, and closes the connection afterwards.
nonisolated(nonsending) func withConnection<R: Sendable>(
    _ path: String,
    _ body: nonisolated(nonsending) (inout KCMConnection) async throws -> R
) async throws -> R {
    let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    let channel = try await bootstrap.connect(unixDomainSocketPath: path) { channel in
        channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel) }
    }
    return try await channel.executeThenClose { input, output in
        var connection = KCMConnection(parts: input.makeAsyncIterator(), output: output, channel: channel.channel)
        return try await body(&connection)
    }
}
