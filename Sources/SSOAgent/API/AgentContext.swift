internal import Hummingbird
internal import KCM
internal import Logging
internal import NIOCore

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
