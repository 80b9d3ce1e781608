internal import Hummingbird
package import KCM
internal import KerberosEngine
internal import Logging
package import NIOCore
internal import NIOPosix
package import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Date

/// The agent's HTTP API on a Unix socket (`openapi.yaml`).
///
/// Each connection's peer is identified by `SO_PEERCRED`. The same user may do everything; other users may do what the ``AccessPolicy``
/// permits. Nothing blocks here: the engine has its own threads, and creating a token from a cached service ticket never blocks.
package final class AgentAPI: Sendable {
    private let current: CurrentExtension
    let exchanges = ExchangeTable()
    let events: EventHub
    let facts: @Sendable () async -> StatusDocument.Process
    let stop: @Sendable () -> Void
    let sessionsChanged: @Sendable () -> Void
    /// Waits for a sign-in by the agent itself, and returns whether it succeeded.
    let signsIn: @Sendable (_ realm: String, _ principal: String?) async -> Bool
    let used: @Sendable (_ principal: String) -> Void
    let isScreenLocked: @Sendable () -> Bool
    /// Receives why connections cannot be accepted, and nil when they are accepted again.
    let acceptFailure: @Sendable (String?) -> Void
    /// The interval of the heartbeat comments in an event stream.
    let heartbeat: TimeAmount
    let connections = ConnectionTable()
    let waiting = WaitingRequests()
    /// The number of requests in progress.
    let requests = Atomic(0)
    let logger = Logger(label: "ksso.agent") { _ in SwiftLogNoOpLogHandler() }
    private let servers = Mutex<[Task<Void, Never>]>([])
    private let group: any EventLoopGroup

    /// Creates an API that does not serve yet.
    ///
    /// - Parameters:
    ///   - current: Provides the extension and the access policy.
    ///   - events: The source of `GET /v1/events`; its creator closes it.
    ///   - facts: Returns the agent's own state for `GET /v1/status`; this type adds the connections and exchanges.
    ///   - stop: Performs `POST /v1/stop`; must let that request's own response be sent.
    ///   - sessionsChanged: Called after each sign-in, refresh, password change and sign-out.
    ///   - signsIn: Waits for the agent to sign in by itself to this realm, as this principal if one is given, and returns whether it did.
    ///   - used: Called when a token of a principal has been created.
    ///   - isScreenLocked: Returns whether the screen is locked; called only if the profile has a rule for that case.
    ///   - acceptFailure: Receives why connections cannot be accepted, such as a lack of descriptors, and nil when they are accepted again.
    ///   - heartbeat: The interval of the heartbeat comments in an event stream.
    package init(
        _ current: CurrentExtension,
        events: EventHub,
        facts: @escaping @Sendable () async -> StatusDocument.Process,
        stop: @escaping @Sendable () -> Void,
        sessionsChanged: @escaping @Sendable () -> Void = {},
        signsIn: @escaping @Sendable (_ realm: String, _ principal: String?) async -> Bool = { _, _ in false },
        used: @escaping @Sendable (_ principal: String) -> Void = { _ in },
        isScreenLocked: @escaping @Sendable () -> Bool = { false },
        acceptFailure: @escaping @Sendable (String?) -> Void = { _ in },
        heartbeat: TimeAmount = .seconds(15)
    ) {
        self.current = current
        self.events = events
        self.facts = facts
        self.stop = stop
        self.sessionsChanged = sessionsChanged
        self.signsIn = signsIn
        self.used = used
        self.isScreenLocked = isScreenLocked
        self.acceptFailure = acceptFailure
        self.heartbeat = heartbeat
        group = MultiThreadedEventLoopGroup.singleton
    }

    /// The active extension and access policy; a change of the profiles replaces them.
    var served: CurrentExtension.ServingState { current.current }

    /// Serves a socket; returns once connections are accepted. May be called for several sockets. One at a path that is served already
    /// replaces the former socket, which is closed; connections that are open stay open.
    package func serve(_ socket: consuming ListeningSocket) async throws {
        let path = socket.path
        let responder = routes().buildResponder()
        let (standIn, acceptFailure) = (try PlaceholderSocket(for: socket), acceptFailure)
        let listener = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try standIn.giveWay()
                    try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler { acceptFailure($0) })
                }
            }
            // A client that has sent its last request and shut down its sending side still reads the response. A closed connection still
            // ends.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(standIn.descriptor) { channel in
                defer { AcceptPauseHandler.connectionIsSetUp(channel) }
                return AgentConnectionServer.setUp(channel, api: self, responder: responder)
            }
        guard connections.add(listener: listener.channel, at: path) else { return try await listener.channel.close() }
        let server = Task { await Self.accept(listener, connections) }
        servers.withLock { $0.append(server) }
    }

    /// Stops accepting connections, cancels the requests that wait for a person, lets the others finish, ends the event streams, and closes
    /// the remaining connections after the grace period.
    package func shutDown(grace: Duration = .seconds(5)) async {
        let clock = ContinuousClock()
        let deadline = Task {
            try await clock.sleep(for: grace)
            connections.closeAll()
        }
        connections.quiesce()
        waiting.cancelAll()
        served.kerberos.cancelQuestions()
        for server in servers.withLock({ $0 }) { await server.value }
        deadline.cancel()
        exchanges.removeAll()
    }

    private static func accept(_ listener: NIOAsyncChannel<AgentConnectionServer?, Never>, _ connections: ConnectionTable) async {
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
