internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The connections to one agent: as many as there are requests at a time, some kept for the next.
final class AgentConnectionPool: Sendable {
    /// Where the agent listens.
    let path: String
    /// Whose agent it is.
    let owner: AgentConnection.Owner
    private let group: any EventLoopGroup
    private let idle = Mutex<[AgentConnection]>([])

    /// More are closed after their request.
    private static let keptConnections = 32

    init(path: String, owner: AgentConnection.Owner = .init(), group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.path = path
        self.owner = owner
        self.group = group
    }

    deinit { for connection in idle.withLock({ $0 }) { connection.close() } }

    /// Sends a request. Over a kept connection that the agent has closed meanwhile it is sent again, once, over a new one.
    ///
    /// - Parameter isRepeatable: False: it goes over a new connection, and is never sent a second time.
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
