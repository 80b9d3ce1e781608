internal import HTTPNegotiate
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

extension AgentClient {
    /// What happens from now on. The stream ends when the agent stops, and throws an `AuthorizationError` when it is lost.
    ///
    /// A reader that is slow loses the oldest events first.
    public func events() -> AsyncThrowingStream<AgentEvent, any Error> {
        let (path, owner) = (socketPath, pool.owner)
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(64)) { continuation in
            let opening = Task {
                do {
                    let channel = try await AgentConnection.connect(path, of: owner, on: MultiThreadedEventLoopGroup.singleton) {
                        pipeline in
                        try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
                        // The agent says every quarter of a minute that it is alive.
                        try pipeline.addHandler(IdleStateHandler(readTimeout: .seconds(60)))
                        try pipeline.addHandler(AgentEventHandler(continuation, path: path))
                    }
                    try await withTaskCancellationHandler {
                        try await channel.closeFuture.get()
                    } onCancel: {
                        channel.close(promise: nil)
                    }
                } catch {
                    continuation.finish(throwing: AuthorizationError(.notRunning(error), path: path))
                }
            }
            continuation.onTermination = { _ in opening.cancel() }
        }
    }
}
