public import Kerberos

/// What a server learned from a client's first token, and what it answers.
public struct Acceptance: Sendable {
    /// The name of the client.
    public let client: String
    /// The name of the service that was addressed.
    public let service: String
    /// The token that proves the server to the client.
    public let reply: [UInt8]

    /// Accepts a token with the keys of a keytab, as a protected server does.
    ///
    /// - Throws: ``Kerberos/KerberosError`` when the token does not verify, or does not suffice.
    public init(_ token: [UInt8], keytab: String) throws(KerberosError) {
        let acceptor = SPNEGOAcceptor(credential: try AcceptorCredential(keytab: keytab, replayCache: .disabled))
        switch try acceptor.step(token) {
        case .proceed:
            throw KerberosError(.invalidToken, subject: keytab, message: "one token does not suffice.")
        case .established(let reply, let context):
            client = context.initiator
            service = context.acceptor
            self.reply = reply ?? []
        }
    }
}
