import NIOCore
import NIOPosix

/// A message on the wire; over TCP a four-byte length precedes it (RFC 4120 section 7.2.2).
struct WireMessage: Sendable {
    /// The bytes that are sent.
    var bytes: ByteBuffer
    /// The announced length, which exceeds the number of bytes of a truncated message.
    var length: Int

    init(_ bytes: ByteBuffer) {
        self.bytes = bytes
        length = bytes.readableBytes
    }

    /// Whether the message was truncated.
    var isCut: Bool { bytes.readableBytes < length }

    /// Returns the bytes with the length prefix.
    func framed() -> ByteBuffer {
        var buffer = ByteBuffer(integer: UInt32(length))
        buffer.writeImmutableBuffer(bytes)
        return buffer
    }
}

extension WireMessage {
    /// Sends the message to a TCP port over a new connection, and waits for the reply until the connection closes.
    ///
    /// - Parameter track: Receives the connection, so that it can be closed early.
    func reply(
        from address: String,
        port: Int,
        on loop: any EventLoop,
        tracked track: @escaping @Sendable (any Channel) -> Void
    ) -> EventLoopFuture<ByteBuffer> {
        let reply = loop.makePromise(of: ByteBuffer.self)
        ClientBootstrap(group: loop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandlers(ByteToMessageHandler(LengthPrefixDecoder()), StreamReplyHandler(reply))
                }
            }
            .connect(host: address, port: port)
            .flatMap { channel in
                track(channel)
                let sent = channel.writeAndFlush(framed())
                return isCut ? sent.flatMap { channel.close(mode: .output) } : sent
            }
            .whenFailure { reply.fail($0) }
        return reply.futureResult
    }
}

/// Extracts the messages from a TCP stream.
struct LengthPrefixDecoder: NIOSingleStepByteToMessageDecoder {
    typealias InboundOut = ByteBuffer
    /// The longest permitted message, far longer than any Kerberos message.
    private static let limit = 1 << 20

    func decode(buffer: inout ByteBuffer) throws -> ByteBuffer? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length <= Self.limit else {
            throw KerberosTestingError(.invalidArgument, "A message of \(length) bytes is not a Kerberos message.")
        }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        return buffer.readSlice(length: Int(length))
    }

    func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ByteBuffer? {
        try decode(buffer: &buffer)
    }
}
