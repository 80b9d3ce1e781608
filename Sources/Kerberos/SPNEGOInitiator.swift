internal import CKerberos

/// The client's end of a SPNEGO negotiation (RFC 4178) with Kerberos as the only mechanism inside: no NTLM, whatever is installed.
///
/// Each step consumes the state it was taken in: a context can be used neither twice nor after a failure.
public struct SPNEGOInitiator: ~Copyable, Sendable {
    private var context = SecurityContextHandle()
    private let credential: InitiatorCredential
    private let bindings: ChannelBindings?
    private let flags: ContextFlags

    /// Makes the first token. Does not block: no network, no file.
    ///
    /// - Parameters:
    ///   - credential: the service ticket.
    ///   - flags: what to ask for; the context counts as established only with all of it granted.
    ///   - channelBindings: of the TLS connection that will carry the token.
    /// - Throws: ``KerberosError``; `noCredentials` when the ticket has expired.
    public static func begin(
        with credential: InitiatorCredential,
        flags: ContextFlags = [.mutualAuthentication, .integrity],
        channelBindings: ChannelBindings? = nil
    ) throws(KerberosError) -> InitiatorStep {
        try SPNEGOInitiator(credential: credential, bindings: channelBindings, flags: flags).advance([])
    }

    private init(credential: InitiatorCredential, bindings: ChannelBindings?, flags: ContextFlags) {
        self.credential = credential
        self.bindings = bindings
        self.flags = flags
    }

    /// Feeds the server's token.
    ///
    /// - Throws: ``KerberosError``; `invalidToken` when it is garbage, selects another mechanism or says "accepted" without proof.
    public consuming func step(_ token: [UInt8]) throws(KerberosError) -> InitiatorStep {
        guard !token.isEmpty else {
            throw KerberosError(.invalidToken, subject: credential.server.description, message: "the server's token is empty.")
        }
        return try advance(token)
    }

    private consuming func advance(_ token: [UInt8]) throws(KerberosError) -> InitiatorStep {
        var minor: OM_uint32 = 0
        var output = gss_buffer_desc()
        var granted: OM_uint32 = 0
        var mechanism: gss_OID?
        var raw = context.raw
        let major = ChannelBindings.withRaw(bindings) { bindings in
            token.withUnsafeBytes { bytes in
                var input = gss_buffer_desc()
                input.length = bytes.count
                input.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return gss_init_sec_context(
                    &minor,
                    credential.handle.raw,
                    &raw,
                    credential.target.raw,
                    ckerberos_mech_spnego(),
                    flags.rawValue,
                    0,
                    bindings,
                    &input,
                    &mechanism,
                    &output,
                    &granted,
                    nil
                )
            }
        }
        context.raw = raw
        let answer = takeBytes(&output)  // a token that comes with an error is not sent
        if ckerberos_gss_is_error(major) != 0 {
            let error = KerberosError.gss(major, minor, subject: credential.server.description)
            // A token that is well-formed and fails holds the server's own error (KRB_ERROR, RFC 4121 section 4.1).
            throw error.code == .other && !token.isEmpty ? error.asRefusal : error
        }
        if major & ckerberos_s_continue_needed != 0 { return .proceed(token: answer, self) }
        let established = try EstablishedContext(
            context,
            granted: ContextFlags(rawValue: granted),
            requested: flags,
            subject: credential.server.description
        )
        return .established(token: answer.isEmpty ? nil : answer, established)
    }
}

/// What follows a step of the client's end.
public enum InitiatorStep: ~Copyable, Sendable {
    /// Send the token and feed the server's answer to the next state.
    case proceed(token: [UInt8], SPNEGOInitiator)
    /// The context stands; a token, if there is one, must still be sent.
    case established(token: [UInt8]?, EstablishedContext)
}
