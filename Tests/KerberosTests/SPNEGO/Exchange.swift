import Kerberos
import TestSupport

/// What one end knows about an established context.
struct ContextEnd: Equatable {
    let initiator: String
    let acceptor: String
    let flags: ContextFlags
    let remainingSeconds: UInt32

    init(_ context: borrowing EstablishedContext) {
        initiator = context.initiator
        acceptor = context.acceptor
        flags = context.flags
        remainingSeconds = context.remainingSeconds
    }
}

/// Passes a reply to a new initiator.
func initiatorEnd(
    from credential: InitiatorCredential,
    answer: [UInt8],
    flags: ContextFlags = [.mutualAuthentication, .integrity]
) throws -> ContextEnd {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags) {
    case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
    case .proceed(_, let initiator): return try end(initiator.step(answer))
    }
}

/// Passes a first token to a new acceptor.
func acceptorEnd(
    _ credential: AcceptorCredential,
    token: [UInt8],
    channelBindings: ChannelBindings? = nil
) throws -> (answer: [UInt8], end: ContextEnd) {
    switch try SPNEGOAcceptor(credential: credential, channelBindings: channelBindings).step(token) {
    case .proceed: throw UnexpectedStep(text: "the server requires a second round trip")
    case .established(let answer, let context): return (answer ?? [], ContextEnd(context))
    }
}

/// Runs the whole exchange and returns both ends.
func establish(
    _ credential: InitiatorCredential,
    _ acceptor: AcceptorCredential,
    flags: ContextFlags = [.mutualAuthentication, .integrity],
    clientBindings: ChannelBindings? = nil,
    serverBindings: ChannelBindings? = nil
) throws -> (client: ContextEnd, server: ContextEnd) {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: clientBindings) {
    case .established: throw UnexpectedStep(text: "the client's context is established before the server has replied")
    case .proceed(let token, let initiator):
        let (answer, server) = try acceptorEnd(acceptor, token: token, channelBindings: serverBindings)
        return (try end(initiator.step(answer)), server)
    }
}

func end(_ step: consuming InitiatorStep) throws -> ContextEnd {
    switch consume step {
    case .proceed: throw UnexpectedStep(text: "the client requires a second round trip")
    case .established(let token, let context):
        guard token == nil else { throw UnexpectedStep(text: "the client sends another token") }
        return ContextEnd(context)
    }
}
