import NIOCore
import NIOHTTP1
import NIOPosix

/// A connection to one of the kit's own servers.
typealias HTTPConnection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

/// Runs a closure while a port takes connections, each of which is served by a task of its own.
///
/// When the closure returns or throws, the port and all connections are closed; the tasks are cancelled and have ended. A connection that
/// fails ends, and no other with it.
///
/// - Parameters:
///   - address: The address to listen at.
///   - configure: Puts the handlers into a new connection, on its event loop.
///   - serve: Serves a connection, with its number: from 1, in the order in which they were accepted.
///   - body: The closure, which gets the port and runs where the caller runs.
/// - Returns: What the closure returns.
nonisolated(nonsending) func withHTTPServer<R>(
    at address: String,
    configure: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void,
    serve: @escaping @Sendable (HTTPConnection, _ number: Int) async throws -> Void,
    _ body: nonisolated(nonsending) (_ port: Int) async throws -> R
) async throws -> R {
    let open = OpenChannels()
    let (accepted, continuation) = AsyncStream.makeStream(of: (any Channel).self)
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // What a client sends stays in the kernel until there is a task for it.
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
    // Those that no task took.
    await open.close()
    return try result.get()
}

extension Channel {
    /// The channel for the one task that serves it, which must run `executeThenClose`: one that is dropped without it traps.
    fileprivate func served(
        _ configure: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) async throws -> HTTPConnection {
        try await eventLoop.submit {
            // This throws where the connection is closed already, so that what follows cannot fail.
            try configure(self.pipeline.syncOperations)
            let connection = try HTTPConnection(wrappingChannelSynchronously: self)
            self.setOption(.autoRead, value: true).whenFailure { _ in self.close(promise: nil) }
            return connection
        }.get()
    }
}
