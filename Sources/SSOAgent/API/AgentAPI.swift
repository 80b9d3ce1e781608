internal import HTTPNegotiate
internal import Hummingbird
package import KCM
internal import KerberosEngine
internal import Logging
package import NIOCore
internal import NIOPosix
package import SSOAgentClient
internal import Synchronization

internal import struct Foundation.Date

/// The agent's HTTP API on a Unix socket (`openapi.yaml`).
///
/// Each connection's peer is known by `SO_PEERCRED`; the same user may do everything, others what the ``AccessPolicy`` lets them.
/// Nothing that blocks runs here: the engine has its own threads, and a token from a ticket at hand is made at once.
package final class AgentAPI: Sendable {
    private let current: CurrentExtension
    let exchanges = ExchangeTable()
    let events: EventHub
    let facts: @Sendable () async -> StatusDocument.Process
    let stop: @Sendable () -> Void
    let sessionsChanged: @Sendable () -> Void
    /// Waits for a sign-in of the agent's own; whether it went well.
    let signsIn: @Sendable (_ realm: String, _ principal: String?) async -> Bool
    let used: @Sendable (_ principal: String) -> Void
    let isScreenLocked: @Sendable () -> Bool
    /// Receives why connections have to wait, and nil when they are accepted again.
    let acceptFailure: @Sendable (String?) -> Void
    /// How often a stream of events says that it is alive.
    let heartbeat: TimeAmount
    let connections = ConnectionTable()
    let waiting = WaitingRequests()
    /// How many are being answered.
    let requests = Atomic(0)
    let logger = Logger(label: "ksso.agent") { _ in SwiftLogNoOpLogHandler() }
    private let servers = Mutex<[Task<Void, Never>]>([])
    private let group: any EventLoopGroup

    /// An API that serves nobody yet.
    ///
    /// - Parameters:
    ///   - current: What holds the sessions, and who may do what.
    ///   - events: What `GET /v1/events` tells; the one who made the hub closes it.
    ///   - facts: The agent's own state, for `GET /v1/status`; connections and exchanges are added to it.
    ///   - stop: What `POST /v1/stop` does; its own answer is one of those that are waited for.
    ///   - sessionsChanged: Called after a sign-in, a refresh and a sign-out.
    ///   - signsIn: Has the agent sign in by itself, where it can for this realm and whom it is asked for, if anybody; whether it went
    ///     well, so that who was not signed in is now.
    ///   - used: Called when a token of a principal's was made.
    ///   - isScreenLocked: Whether the screen is locked; asked where a profile says what becomes of a request then.
    ///   - acceptFailure: Receives why connections have to wait, such as that the process has no descriptor left, and nil when they are
    ///     accepted again.
    ///   - heartbeat: How often a stream of events says that it is alive.
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

    /// What is served now; a change of the profiles puts another in its place.
    var served: CurrentExtension.Office { current.current }

    /// Serves a socket; returns once connections are accepted. May be called for several sockets. One at a path that is served already
    /// replaces the former socket, which is closed; connections that are open stay open.
    package func serve(_ socket: consuming ListeningSocket) async throws {
        let path = socket.path
        let responder = routes().buildResponder()
        let (standIn, acceptFailure) = (try SocketStandIn(for: socket), acceptFailure)
        let listener = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try standIn.giveWay()
                    try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler { acceptFailure($0) })
                }
            }
            // A client that has sent all that it has to say still reads the answer. One that is gone ends its connection all the same.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(standIn.descriptor) { channel in
                AgentConnectionServer.setUp(channel, api: self, responder: responder)
            }
        guard connections.add(listener: listener.channel, at: path) else { return try await listener.channel.close() }
        let server = Task { await Self.accept(listener, connections) }
        servers.withLock { $0.append(server) }
    }

    /// Accepts no more, lets each request in progress end, but for those that wait for a person, ends the streams of events, and closes
    /// what is left after the grace period.
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
            // An error of the listening socket ends it; the connections go on.
            try? await listener.executeThenClose { inbound in
                for try await connection in inbound {
                    guard let connection else { continue }
                    group.addTask { await connection.run() }
                }
            }
        }
    }
}
