internal import CKerberos

/// The client's end of a SPNEGO negotiation (RFC 4178) with Kerberos as the only mechanism inside: no NTLM, whatever is installed.
///
/// Each step consumes the state it was taken in: a context can be used neither twice nor after a failure.
public struct SPNEGOInitiator: ~Copyable, Sendable {
    private var context = SecurityContextHandle()
    private let credential: InitiatorCredential
    private let bindings: ChannelBindings?
    private let flags: ContextFlags
    /// What the mechanism grants so far. Whether the client's own ticket goes along is settled with the first token: it is in there or not.
    public private(set) var granted: ContextFlags = []

    /// Makes the first token. Does not block: no network, no ticket file.
    ///
    /// - Parameters:
    ///   - credential: the service ticket, and nothing else: one that can delegate is for
    ///     ``KerberosClient/beginNegotiation(with:flags:channelBindings:deadline:)``.
    ///   - flags: what to ask for; the context counts as established only with all of it granted, delegation and channel binding excepted.
    ///   - channelBindings: of the TLS connection that will carry the token.
    /// - Throws: ``KerberosError``; `noCredentials` when the ticket has expired.
    public static func begin(
        with credential: InitiatorCredential,
        flags: ContextFlags = [.mutualAuthentication, .integrity],
        channelBindings: ChannelBindings? = nil
    ) throws(KerberosError) -> InitiatorStep {
        guard !credential.canDelegate else {
            let message = "a credential that can delegate may have to wait for the KDC. Begin with the realm's KerberosClient."
            throw KerberosError(.other, subject: credential.server.description, message: message)
        }
        return try start(with: credential, flags: flags, channelBindings: channelBindings)
    }

    /// Makes the first token, of whatever credential: one that can delegate blocks until the KDC has answered.
    static func start(
        with credential: InitiatorCredential,
        flags: ContextFlags,
        channelBindings: ChannelBindings?
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
    /// - Throws: ``KerberosError``; `refusedByServer` when it rejects the ticket, `flagsNotGranted` when it accepts the ticket without the
    ///   proof that was asked for, `invalidToken` when it is garbage or selects another mechanism.
    public consuming func step(_ token: [UInt8]) throws(KerberosError) -> InitiatorStep {
        let subject = credential.server.description
        guard !token.isEmpty else { throw KerberosError(.invalidToken, subject: subject, message: "the server's token is empty.") }
        switch NegotiationResponse(token) {
        case .some(let response) where response.state == .reject:
            let refusal = KerberosError(
                .refusedByServer,
                subject: subject,
                message: "the server rejected the ticket without saying why. Check its keytab, its clock and its access rules."
            )
            guard response.hasMechanismToken else { throw refusal }
            do throws(KerberosError) { return try advance(token) } catch { throw error.code == .invalidToken ? refusal : error }
        case .some(let response) where !response.hasMechanismToken && flags.contains(.mutualAuthentication):
            let message = "the server accepted the ticket without the proof (AP-REP) that it is this service."
            let unproven = KerberosError(.flagsNotGranted, subject: subject, message: message)
            // An earlier leg may have brought the proof, as in DCE style: libgssapi knows.
            do throws(KerberosError) { return try advance(token) } catch { throw error.code == .invalidToken ? unproven : error }
        default: return try advance(token)
        }
    }

    private consuming func advance(_ token: [UInt8]) throws(KerberosError) -> InitiatorStep {
        var minor: OM_uint32 = 0
        var output = gss_buffer_desc()
        var result = EstablishmentResult()
        let major = call(token, &output, &result, &minor)
        granted = result.granted
        let answer = takeBytes(&output)  // a token that comes with an error is not sent
        if ckerberos_gss_is_error(major) != 0 {
            let error = KerberosError.gss(major, minor, subject: credential.server.description)
            // The clocks differ by more than the ticket's life.
            if [.ticketExpired, .noCredentials].contains(error.code), credential.holdsByClockOfKDC { throw error.because(.clockSkew) }
            // A token that is well-formed and fails holds the server's own error (KRB_ERROR, RFC 4121 section 4.1).
            throw error.code == .other && !token.isEmpty ? error.asRefusal : error
        }
        if major & ckerberos_s_continue_needed != 0 { return .proceed(token: answer, self) }
        let established = try EstablishedContext(
            context,
            result,
            requested: flags,
            names: (credential.client.description, credential.server.description),
            subject: credential.server.description
        )
        return .established(token: answer.isEmpty ? nil : answer, established)
    }

    private mutating func call(
        _ token: [UInt8],
        _ output: inout gss_buffer_desc,
        _ result: inout EstablishmentResult,
        _ minor: inout OM_uint32
    ) -> OM_uint32 {
        // The closures can't have self, which can't be copied.
        let (credential, flags, bindings) = (credential, flags, bindings)
        var raw = context.raw
        defer { context.raw = raw }
        return ChannelBindings.withRaw(bindings) { bindings in
            token.withUnsafeBytes { bytes in
                credential.handles.withHandle { handle in
                    var input = gss_buffer_desc()
                    input.length = bytes.count
                    input.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                    return gss_init_sec_context(
                        &minor,
                        handle,
                        &raw,
                        credential.target.raw,
                        ckerberos_mech_spnego(),
                        flags.rawValue,
                        0,
                        bindings,
                        &input,
                        &result.mechanism,
                        &output,
                        &result.flags,
                        &result.remainingSeconds
                    )
                }
            }
        }
    }
}

/// What follows a step of the client's end.
public enum InitiatorStep: ~Copyable, Sendable {
    /// Send the token and feed the server's answer to the next state.
    case proceed(token: [UInt8], SPNEGOInitiator)
    /// The context stands; a token, if there is one, must still be sent.
    case established(token: [UInt8]?, EstablishedContext)
}
