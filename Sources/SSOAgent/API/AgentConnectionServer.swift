internal import HTTPNegotiate
internal import Hummingbird
internal import HummingbirdCore
internal import KCM
internal import KerberosEngine
internal import Logging
internal import NIOCore
internal import SSOAgentClient
internal import Synchronization

/// One connection of the API.
struct AgentConnectionServer: Sendable {
    private let http: HTTP1Channel
    private let value: HTTP1Channel.Value
    private let logger: Logger
    private let executor: EventLoopTaskExecutor

    /// A connection that says nothing is closed after this.
    private static let idleTimeout = TimeAmount.minutes(5)

    /// Puts HTTP into a new connection; nil for one that is closed at once, because its peer is a stranger or has too many.
    static func setUp(
        _ channel: any Channel,
        api: AgentAPI,
        responder: RouterResponder<AgentContext>
    ) -> EventLoopFuture<AgentConnectionServer?> {
        // Whom no rule names is not listened to: nothing that it sends takes room.
        let served = api.served
        guard let peer = PeerCredential(channel), served.access.knows(peer, in: served.kerberos.policy.configurations),
            api.connections.add(channel, user: peer.userID)
        else {
            channel.close(promise: nil)
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        channel.closeFuture.whenComplete { [waiting = api.waiting] _ in waiting.cancel(on: channel) }
        let logger = api.logger
        var configuration = HTTP1Channel.Configuration(idleTimeout: idleTimeout)
        // An auth-request carries the fields of any request that nginx took.
        configuration.httpDecoder.maxHeaderFieldSize = 128 * 1024
        configuration.httpDecoder.maxHeaderListSize = 256 * 1024
        let http = HTTP1Channel(
            responder: { request, writer, channel in
                let context = AgentContext(source: AgentContextSource(logger: logger, channel: channel, peer: peer, served: api.served))
                let response = await api.response(to: request, context: context, responder: responder)
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: configuration
        )
        let executor = EventLoopTaskExecutor(channel.eventLoop)
        return http.setup(channel: channel, logger: logger)
            .map { AgentConnectionServer(http: http, value: $0, logger: logger, executor: executor) }
    }

    /// Answers requests until the connection ends.
    func run() async {
        await withTaskExecutorPreference(executor) { await http.handle(value: value, logger: logger) }
    }
}

/// What a request is answered with: whose it is, and over which connection it came.
struct AgentContext: RequestContext {
    typealias Source = AgentContextSource

    var coreContext: CoreRequestContextStorage
    /// Who sent it.
    let peer: PeerCredential
    /// The connection.
    let channel: any Channel
    /// What answers the request, and by whose rules; what came into office while the body did counts.
    var served: CurrentExtension.Office
    /// What the request carried, once it has come.
    let body = AgentRequestBody()

    init(source: AgentContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.peer
        channel = source.channel
        served = source.served
    }
}

/// What a context is made from.
struct AgentContextSource: RequestContextSource {
    let logger: Logger
    let channel: any Channel
    let peer: PeerCredential
    let served: CurrentExtension.Office
}

/// The whole body of a request, held until the operation takes it: nobody else has it then, so that a secret in it can be wiped.
final class AgentRequestBody: Sendable {
    private let bytes = Mutex(ByteBuffer())

    func put(_ body: ByteBuffer) { bytes.withLock { $0 = body } }

    /// The body; after that there is none.
    func take() -> ByteBuffer {
        bytes.withLock { bytes in
            defer { bytes = ByteBuffer() }
            return bytes
        }
    }
}

/// Runs a connection's task on the connection's own event loop: a request then costs no change of threads, which would cost more than
/// its token. Actors with threads of their own, such as the realms', stay on those.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
