import Kerberos

/// What one end knows once the context stands.
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

/// A step that went another way than Kerberos's one round trip.
struct UnexpectedStep: Error {
    let text: String
}

/// The initiator's first token; the context is given up.
func firstToken(
    from credential: InitiatorCredential,
    flags: ContextFlags = [.mutualAuthentication, .integrity],
    channelBindings: ChannelBindings? = nil
) throws -> [UInt8] {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: channelBindings) {
    case .proceed(let token, _): return token
    case .established(let token, _): return token ?? []
    }
}

/// Feeds an answer to an initiator that has just begun.
func initiatorEnd(
    from credential: InitiatorCredential,
    answer: [UInt8],
    flags: ContextFlags = [.mutualAuthentication, .integrity]
) throws -> ContextEnd {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags) {
    case .established: throw UnexpectedStep(text: "the client takes the context for established before the server has answered")
    case .proceed(_, let initiator): return try end(initiator.step(answer))
    }
}

/// Feeds a first token to an acceptor.
func acceptorEnd(
    _ credential: AcceptorCredential,
    token: [UInt8],
    channelBindings: ChannelBindings? = nil
) throws -> (answer: [UInt8], end: ContextEnd) {
    switch try SPNEGOAcceptor(credential: credential, channelBindings: channelBindings).step(token) {
    case .proceed: throw UnexpectedStep(text: "the server wants a second round")
    case .established(let answer, let context): return (answer ?? [], ContextEnd(context))
    }
}

/// The whole exchange, client's and server's end.
func establish(
    _ credential: InitiatorCredential,
    _ acceptor: AcceptorCredential,
    flags: ContextFlags = [.mutualAuthentication, .integrity],
    clientBindings: ChannelBindings? = nil,
    serverBindings: ChannelBindings? = nil
) throws -> (client: ContextEnd, server: ContextEnd) {
    switch try SPNEGOInitiator.begin(with: credential, flags: flags, channelBindings: clientBindings) {
    case .established: throw UnexpectedStep(text: "the client takes the context for established before the server has answered")
    case .proceed(let token, let initiator):
        let (answer, server) = try acceptorEnd(acceptor, token: token, channelBindings: serverBindings)
        return (try end(initiator.step(answer)), server)
    }
}

func end(_ step: consuming InitiatorStep) throws -> ContextEnd {
    switch consume step {
    case .proceed: throw UnexpectedStep(text: "the client wants a second round")
    case .established(let token, let context):
        guard token == nil else { throw UnexpectedStep(text: "the client has something left to say") }
        return ContextEnd(context)
    }
}
