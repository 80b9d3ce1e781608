extension KerberosClient {
    /// Makes the first token of a negotiation on the realm's own thread, with a credential that can delegate.
    ///
    /// GSSAPI then asks the KDC for a ticket to pass on, and finds the KDC by the krb5.conf of this process alone (`KRB5_CONFIG`), not by
    /// ``configuration``. Where that names no KDC of the realm, DNS is asked; where nobody answers, the KDC refuses, or the ticket-granting
    /// ticket is not forwardable, the token is made without it: look for `delegation` in ``SPNEGOInitiator/granted``.
    ///
    /// - Parameters:
    ///   - credential: the service ticket, with the ticket-granting ticket or without.
    ///   - flags: what to ask for; `delegation` or `delegationByPolicy` for the client's ticket to go along.
    ///   - channelBindings: of the TLS connection that will carry the token.
    ///   - deadline: how long to wait for a KDC; nil is 10 seconds with one KDC known, else 25.
    /// - Throws: ``KerberosError``; `kdcUnreachable` when the deadline has passed, `noCredentials` when the ticket has expired.
    public func beginNegotiation(
        with credential: InitiatorCredential,
        flags: ContextFlags = [.mutualAuthentication, .integrity],
        channelBindings: ChannelBindings? = nil,
        deadline: Duration? = nil
    ) async throws(KerberosError) -> InitiatorStep {
        let subject = credential.server.description
        let made = try await performOnNetwork(subject: subject, deadline: deadline) { _, _ throws(KerberosError) in
            Handover(try SPNEGOInitiator.start(with: credential, flags: flags, channelBindings: channelBindings))
        }
        guard let step = made.take() else { throw KerberosError(.other, subject: subject, message: "the token was taken twice.") }
        return step
    }
}
