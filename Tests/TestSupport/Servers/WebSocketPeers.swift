internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOWebSocket

/// A WebSocket server on 127.0.0.1 without authentication. It sends one question on each connection.
package struct QuestioningServer: Sendable {
    package static let question = "who are you?"

    package let port: Int
    /// The messages that arrived, in order, for a single reader.
    package let answers: AsyncStream<String>

    /// Runs a server while the body runs.
    package static func run<Return>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (QuestioningServer) async throws -> Return
    ) async throws -> Return {
        let (answers, continuation) = AsyncStream.makeStream(of: String.self)
        let upgrader = NIOWebSocketServerUpgrader { channel, _ in
            channel.eventLoop.makeSucceededFuture(HTTPHeaders())
        } upgradePipelineHandler: { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(MessageHandler(first: question) { continuation.yield($0) })
            }
        }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in })
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(QuestioningServer(port: channel.localAddress?.port ?? 0, answers: answers))
            try await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }
}

/// A WebSocket client that answers the messages of a server on 127.0.0.1.
package enum AnsweringClient {
    /// Opens a WebSocket, answers its messages, and closes it after the body.
    ///
    /// Throws ``Refusal`` if the server does not open it.
    package static func run<Return>(
        port: Int,
        path: String,
        isolation: isolated (any Actor)? = #isolation,
        answer: @escaping @Sendable (String) -> String,
        _ body: () async throws -> Return
    ) async throws -> Return {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let opened = loop.makePromise(of: Void.self)
        let upgrader = NIOWebSocketClientUpgrader { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                opened.succeed()
                _ = channel.pipeline.syncOperations.removeHandler(name: RefusalHandler.name)
                let handler = MessageHandler { [weak channel] message in
                    channel?.writeAndFlush(MessageHandler.frame(answer(message), maskKey: .random()), promise: nil)
                }
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }
        let connection = ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers(
                        leftOverBytesStrategy: .forwardBytes,
                        withClientUpgrade: (upgraders: [upgrader], completionHandler: { _ in })
                    )
                    try channel.pipeline.syncOperations.addHandler(RefusalHandler(opened), name: RefusalHandler.name)
                }
            }
            .connect(host: "127.0.0.1", port: port)
        connection.whenFailure { opened.fail($0) }
        let channel = try await connection.get()
        let authority = "127.0.0.1:\(port)"
        let fields: HTTPHeaders = ["Host": authority, "Origin": "http://\(authority)"]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: fields)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        do {
            try await opened.futureResult.get()
            let result = try await body()
            try? await channel.close()
            return result
        } catch {
            try? await channel.close()
            throw error
        }
    }
}

/// A response that does not open the WebSocket.
package struct Refusal: Error {
    package let status: Int
}

/// Waits for a response other than 101.
private final class RefusalHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart

    static let name = "refusal"
    private let opened: EventLoopPromise<Void>

    init(_ opened: EventLoopPromise<Void>) { self.opened = opened }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) { opened.fail(Refusal(status: Int(head.status.code))) }
    }

    func channelInactive(context: ChannelHandlerContext) { opened.fail(ChannelError.eof) }
}

/// Passes the text messages of a WebSocket on.
private final class MessageHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let first: String?
    private let receive: @Sendable (String) -> Void

    /// - Parameter first: A message to send at once.
    init(first: String? = nil, receive: @escaping @Sendable (String) -> Void) {
        (self.first, self.receive) = (first, receive)
    }

    /// A client's frame needs a mask (RFC 6455 section 5.1).
    static func frame(_ text: String, maskKey: WebSocketMaskingKey? = nil) -> WebSocketFrame {
        WebSocketFrame(fin: true, opcode: .text, maskKey: maskKey, data: ByteBuffer(string: text))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if let first { context.writeAndFlush(wrapOutboundOut(Self.frame(first)), promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: receive(String(buffer: frame.unmaskedData))
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
