internal import HTTPNegotiate
internal import Hummingbird
internal import HummingbirdCore
internal import KCM
internal import KerberosEngine
internal import Logging
internal import NIOCore
internal import SSOAgentClient

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
