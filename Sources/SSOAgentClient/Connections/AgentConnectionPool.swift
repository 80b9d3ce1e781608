internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The connections to one agent: as many as there are concurrent requests. Some are kept open for later requests.
final class AgentConnectionPool: Sendable {
    /// The path of the agent's socket.
    let path: String
    /// The user that the agent must belong to.
    let owner: AgentConnection.Owner
    private let group: any EventLoopGroup
    private let idle = Mutex<[AgentConnection]>([])

    /// The maximum number of idle connections; others are closed after their request.
    private static let keptConnections = 32

    init(path: String, owner: AgentConnection.Owner = .init(), group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.path = path
        self.owner = owner
        self.group = group
    }

    deinit { for connection in idle.withLock({ $0 }) { connection.close() } }

    /// Sends a request. If the agent has closed an idle connection meanwhile, the request is sent once more over a new connection.
    ///
    /// - Parameter isRepeatable: If false, the request uses a new connection and is never sent a second time.
    func send(_ request: AgentConnection.Request, isRepeatable: Bool = true) async throws(AgentConnection.Failure)
        -> AgentConnection.Response
    {
        if isRepeatable, let connection = takeIdle() {
            do {
                return try await send(request, over: connection)
            } catch {
                guard case .lost = error else { throw error }
            }
        }
        guard !Task.isCancelled else { throw .canceled }
        return try await send(request, over: try await AgentConnection.open(path, of: owner, on: group))
    }

    private func send(
        _ request: AgentConnection.Request,
        over connection: AgentConnection
    ) async throws(AgentConnection.Failure) -> AgentConnection.Response {
        let response = try await connection.send(request)
        keep(connection)
        return response
    }

    private func takeIdle() -> AgentConnection? {
        idle.withLock { idle in
            while let connection = idle.popLast() {
                if connection.isOpen { return connection }
            }
            return nil
        }
    }

    private func keep(_ connection: AgentConnection) {
        guard connection.isOpen else { return }
        let isKept = idle.withLock { idle in
            guard idle.count < Self.keptConnections else { return false }
            idle.append(connection)
            return true
        }
        if !isKept { connection.close() }
    }
}
