import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection to one of the kit's own servers.
typealias HTTPConnection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

/// Runs a closure while a port accepts connections, each of which is served by its own task.
///
/// When the closure returns or throws, the port and all connections close, and the tasks have been canceled and have finished. A connection
/// that fails does not affect the others.
///
/// - Parameters:
///   - address: The address to listen at.
///   - configure: Adds the handlers to a new connection, on its event loop.
///   - serve: Serves a connection, with its number, from 1 in the order in which they were accepted.
///   - body: The closure, which receives the port and runs on the caller's actor.
/// - Returns: The closure's result.
nonisolated(nonsending) func withHTTPServer<R>(
    at address: String,
    configure: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void,
    serve: @escaping @Sendable (HTTPConnection, _ number: Int) async throws -> Void,
    _ body: nonisolated(nonsending) (_ port: Int) async throws -> R
) async throws -> R {
    let open = OpenChannels()
    let (accepted, continuation) = AsyncStream.makeStream(of: (any Channel).self)
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // Data from a client stays in the kernel until there is a task that reads it.
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
            open.add(channel)
            continuation.yield(channel)
            return channel.eventLoop.makeSucceededVoidFuture()
        }
        .bind(host: address, port: 0).get()
    let result: Result<R, any Error> = await withTaskGroup(of: Void.self) { group in
        group.addTask {
            await withDiscardingTaskGroup { connections in
                var number = 0
                for await channel in accepted {
                    number += 1
                    connections.addTask { [number] in
                        guard let connection = try? await channel.served(configure) else { return }
                        try? await serve(connection, number)
                    }
                }
            }
        }
        let outcome: Result<R, any Error>
        do {
            outcome = .success(try await body(listener.localAddress?.port ?? 0))
        } catch {
            outcome = .failure(error)
        }
        group.cancelAll()
        return outcome
    }
    try? await listener.close()
    // Closes the connections that no task has taken.
    await open.close()
    return try result.get()
}

extension Channel {
    /// Wraps the channel for the task that serves it, which must call `executeThenClose`: discarding the wrapper without it traps.
    fileprivate func served(
        _ configure: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) async throws -> HTTPConnection {
        try await eventLoop.submit {
            // Throws if the connection is already closed, so that the following calls cannot fail.
            try configure(self.pipeline.syncOperations)
            let connection = try HTTPConnection(wrappingChannelSynchronously: self)
            self.setOption(.autoRead, value: true).whenFailure { _ in self.close(promise: nil) }
            return connection
        }.get()
    }
}
