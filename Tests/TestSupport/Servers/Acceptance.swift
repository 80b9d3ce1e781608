public import Kerberos

/// A server's result for a client's first token: the names, the flags, and its reply.
public struct Acceptance: Sendable {
    /// The client principal.
    public let client: String
    /// The service principal.
    public let service: String
    /// What the client requested and was granted.
    public let flags: ContextFlags
    /// The token that authenticates the server to the client.
    public let reply: [UInt8]

    /// Accepts a token with the keys of a keytab, as a protected server does.
    ///
    /// - Throws: ``Kerberos/KerberosError`` if the token does not verify, or if one token is not enough.
    public init(_ token: [UInt8], keytab: String, channelBindings: ChannelBindings? = nil) throws(KerberosError) {
        let credential = try AcceptorCredential(keytab: keytab, replayCache: .disabled)
        switch try SPNEGOAcceptor(credential: credential, channelBindings: channelBindings).step(token) {
        case .proceed:
            throw KerberosError(.invalidToken, subject: keytab, message: "one token does not suffice.")
        case .established(let reply, let context):
            client = context.initiator
            service = context.acceptor
            flags = context.flags
            self.reply = reply ?? []
        }
    }
}
