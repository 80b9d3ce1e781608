internal import KCM
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Accepts the connections of the API's Unix sockets. Each connection's peer is identified by `SO_PEERCRED`.
final class AgentAPIServer: Sendable {
    let api: AgentAPI
    private let listeners = Mutex<[Task<Void, Never>]>([])

    /// Creates a server that does not serve yet.
    init(_ api: AgentAPI) { self.api = api }

    /// Serves a socket; returns once connections are accepted. May be called for several sockets. One at a path that is served already
    /// replaces the former socket, which is closed; connections that are open stay open.
    func serve(_ socket: consuming ListeningSocket) async throws {
        let path = socket.path
        let setUp = AgentConnectionServer.setUp(for: api)
        let (placeholder, api) = (try PlaceholderSocket(for: socket), api)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelInitializer { [delegate = api.delegate] channel in
                channel.eventLoop.makeCompletedFuture {
                    try placeholder.replace()
                    try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler { delegate.acceptsConnections(failure: $0) })
                }
            }
            // A client that has sent its last request and shut down its sending side still reads the response. A closed connection still
            // ends.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(placeholder.descriptor) { channel in
                defer { AcceptPauseHandler.connectionIsSetUp(channel) }
                return setUp(channel)
            }
        guard api.connections.add(listener: listener.channel, at: path) else { return try await listener.channel.close() }
        let task = Task { await Self.accept(listener) }
        listeners.withLock { $0.append(task) }
    }

    /// Stops accepting connections, cancels the requests that wait for a person, lets the others finish, ends the event streams, and closes
    /// the remaining connections after the grace period.
    func shutDown(grace: Duration = .seconds(5)) async {
        let clock = ContinuousClock()
        let deadline = Task { [connections = api.connections] in
            try await clock.sleep(for: grace)
            connections.closeAll()
        }
        api.connections.quiesce()
        api.cancelWaiting()
        for listener in listeners.withLock({ $0 }) { await listener.value }
        deadline.cancel()
        api.exchanges.removeAll()
    }

    private static func accept(_ listener: NIOAsyncChannel<AgentConnectionServer?, Never>) async {
        await withDiscardingTaskGroup { group in
            // An error of the listening socket ends the loop; existing connections stay open.
            try? await listener.executeThenClose { inbound in
                for try await connection in inbound {
                    guard let connection else { continue }
                    group.addTask { await connection.run() }
                }
            }
        }
    }
}
