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

    init(source: AgentContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.peer
        channel = source.channel
    }
}

/// What a context is made from.
struct AgentContextSource: RequestContextSource {
    let logger: Logger
    let channel: any Channel
    let peer: PeerCredential
}
