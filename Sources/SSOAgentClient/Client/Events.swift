internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import SignOnPolicy

internal import struct Foundation.Data

extension AgentClient {
    /// Returns the events from now on. The stream finishes when the agent stops, and throws an `AuthorizationError` when the connection is
    /// lost.
    ///
    /// If the reader is slow, its oldest events are dropped first.
    public func events() -> AsyncThrowingStream<AgentEvent, any Error> {
        let (path, owner) = (socketPath, pool.owner)
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(64)) { continuation in
            let opening = Task {
                do throws(AgentConnection.Failure) {
                    let channel = try await AgentConnection.channel(path, of: owner, on: MultiThreadedEventLoopGroup.singleton) {
                        pipeline in
                        try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
                        // The agent sends a comment every 15 seconds.
                        try pipeline.addHandler(IdleStateHandler(readTimeout: .seconds(60)))
                        try pipeline.addHandler(AgentEventHandler(continuation, path: path))
                    }
                    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: AgentPath.events, headers: ["host": "ksso"])
                    channel.write(HTTPClientRequestPart.head(head), promise: nil)
                    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
                    // The handler finishes the stream.
                    await withTaskCancellationHandler {
                        try? await channel.closeFuture.get()
                    } onCancel: {
                        channel.close(promise: nil)
                    }
                } catch {
                    continuation.finish(throwing: AuthorizationError(error, path: path))
                }
            }
            continuation.onTermination = { _ in opening.cancel() }
        }
    }
}

/// Reads the event stream.
final class AgentEventHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let continuation: AsyncThrowingStream<AgentEvent, any Error>.Continuation
    private let path: String
    private var status = 0
    private var lines = AgentEventLines()
    /// The description of a failure, in place of events.
    private var problemBytes: [UInt8] = []

    init(_ continuation: AsyncThrowingStream<AgentEvent, any Error>.Continuation, path: String) {
        self.continuation = continuation
        self.path = path
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body(let part):
            if !take(part.readableBytesView) { finish(.broken("an event is longer than \(AgentEventLines.lineLimit) bytes"), context) }
        case .end:
            if status == 200 { continuation.finish() } else { continuation.finish(throwing: problem()) }
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        finish(.timedOut, context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.init(error, hasBegun: false), context) }

    func channelInactive(context: ChannelHandlerContext) { finish(.lost, context) }

    /// - Returns: False if the agent sent too much.
    private func take(_ bytes: ByteBufferView) -> Bool {
        guard status != 200 else { return lines.read(bytes) { continuation.yield($0) } }
        problemBytes += bytes
        return problemBytes.count <= AgentEventLines.lineLimit
    }

    private func problem() -> AuthorizationError {
        guard let problem = try? AgentJSON.decode(AgentProblem.self, from: Data(problemBytes)) else {
            return AuthorizationError(.agentUnavailable, "\(path): the agent responded with status \(status).")
        }
        return AuthorizationError(problem)
    }

    private func finish(_ failure: AgentConnection.Failure, _ context: ChannelHandlerContext) {
        continuation.finish(throwing: AuthorizationError(failure, path: path))
        context.close(promise: nil)
    }
}
