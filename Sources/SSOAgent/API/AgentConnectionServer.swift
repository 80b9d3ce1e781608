internal import EventLoopTasks
internal import Hummingbird
internal import HummingbirdCore
internal import KCM
internal import KerberosEngine
internal import Logging
internal import NIOCore
internal import SSOAgentClient
internal import SignOnPolicy
internal import Synchronization

/// The server side of one API connection.
final class AgentConnectionServer: Sendable {
    private let http: HTTP1Channel
    private let value: HTTP1Channel.Value
    private let executor: EventLoopTaskExecutor
    private let hasRun = Atomic(false)

    /// A connection without traffic is closed after this time.
    private static let idleTimeout = TimeAmount.minutes(5)
    /// Hummingbird's log; the agent has its own (``Journal``).
    private static let logger = Logger(label: "ksso.agent") { _ in SwiftLogNoOpLogHandler() }

    private init(http: HTTP1Channel, value: HTTP1Channel.Value, executor: EventLoopTaskExecutor) {
        self.http = http
        self.value = value
        self.executor = executor
    }

    /// Closes a connection that was accepted while its listener closed, so that nothing runs it: SwiftNIO requires that the writer of a
    /// channel is finished, and otherwise ends the process.
    deinit {
        guard !hasRun.load(ordering: .acquiring) else { return }
        Task { [value] in try? await value.executeThenClose { _, _ in } }
    }

    /// A function that sets up the new connections of a listener.
    static func setUp(for api: AgentAPI) -> @Sendable (any Channel) -> EventLoopFuture<AgentConnectionServer?> {
        let responder = api.routes().buildResponder()
        return { setUp($0, api: api, responder: responder) }
    }

    /// Adds the HTTP handlers to a new connection; nil if the connection is closed at once, because its peer has no access or too many
    /// connections.
    private static func setUp(
        _ channel: any Channel,
        api: AgentAPI,
        responder: RouterResponder<AgentContext>
    ) -> EventLoopFuture<AgentConnectionServer?> {
        // A peer that no rule names is rejected before it can send data that takes memory.
        let served = api.served
        guard let peer = PeerCredential(channel), served.access.knows(peer, in: served.kerberos.policy.configurations),
            api.connections.add(channel, user: peer.userID)
        else {
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        channel.closeFuture.whenComplete { [waiting = api.waiting] _ in waiting.cancel(on: channel) }
        var configuration = HTTP1Channel.Configuration(idleTimeout: idleTimeout)
        // An auth-request carries all header fields of a request that nginx accepted.
        configuration.httpDecoder.maxHeaderFieldSize = 128 * 1024
        configuration.httpDecoder.maxHeaderListSize = 256 * 1024
        let http = HTTP1Channel(
            responder: { request, writer, channel in
                let context = AgentContext(
                    source: AgentContextSource(logger: Self.logger, channel: channel, peer: peer, served: api.served)
                )
                let response = await api.response(to: request, context: context, responder: responder)
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: configuration
        )
        let executor = EventLoopTaskExecutor(channel.eventLoop)
        return http.setup(channel: channel, logger: Self.logger)
            .map { AgentConnectionServer(http: http, value: $0, executor: executor) }
    }

    /// Handles requests until the connection closes.
    func run() async {
        hasRun.store(true, ordering: .releasing)
        await withTaskExecutorPreference(executor) { await http.handle(value: value, logger: Self.logger) }
    }
}

/// The context of a request: its peer and its connection.
struct AgentContext: RequestContext {
    typealias Source = AgentContextSource

    var coreContext: CoreRequestContextStorage
    /// The peer that sent the request.
    let peer: PeerCredential
    /// The connection.
    let channel: any Channel
    /// The extension and access policy for the request; read again once the body has arrived.
    var served: CurrentExtension.ServingState
    /// The body of the request, once it has arrived.
    let body = AgentRequestBody()

    init(source: AgentContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.peer
        channel = source.channel
        served = source.served
    }
}

/// The values that a context is created from.
struct AgentContextSource: RequestContextSource {
    let logger: Logger
    let channel: any Channel
    let peer: PeerCredential
    let served: CurrentExtension.ServingState
}

/// Holds the whole body of a request until the operation takes it. The operation then has the only reference, so that it can wipe a secret
/// in the body.
final class AgentRequestBody: Sendable {
    private let bytes = Mutex(ByteBuffer())

    func put(_ body: ByteBuffer) { bytes.withLock { $0 = body } }

    /// Returns and removes the body.
    func take() -> ByteBuffer {
        bytes.withLock { bytes in
            defer { bytes = ByteBuffer() }
            return bytes
        }
    }
}
