internal import CKerberos

/// The server's end of a SPNEGO negotiation (RFC 4178).
public struct SPNEGOAcceptor: ~Copyable, Sendable {
    private var context = SecurityContextHandle()
    private let credential: AcceptorCredential
    private let bindings: ChannelBindings?

    /// A new negotiation.
    ///
    /// - Parameters:
    ///   - credential: the service's keys.
    ///   - channelBindings: compared with the client's. A client that sends none is let in all the same by libkrb5: to demand
    ///     them, check ``ContextFlags/channelBound`` of the established context.
    public init(credential: AcceptorCredential, channelBindings: ChannelBindings? = nil) {
        self.credential = credential
        bindings = channelBindings
    }

    /// Feeds the client's token. It may block for the replay cache's disk write.
    ///
    /// - Throws: ``KerberosError``; `channelBindingsDiffer`, `invalidToken`, `clockSkew` among its codes.
    public consuming func step(_ token: [UInt8]) throws(KerberosError) -> AcceptorStep {
        // libgssapi would take it for a question and answer with its list of mechanisms.
        guard !token.isEmpty else {
            throw KerberosError(.invalidToken, subject: credential.keytab, message: "the client's token is empty.")
        }
        var minor: OM_uint32 = 0
        var output = gss_buffer_desc()
        var result = EstablishmentResult()
        var raw = context.raw
        let major = ChannelBindings.withRaw(bindings) { bindings in
            token.withUnsafeBytes { bytes in
                var input = gss_buffer_desc()
                input.length = bytes.count
                input.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                return gss_accept_sec_context(
                    &minor,
                    &raw,
                    credential.handle.raw,
                    &input,
                    bindings,
                    nil,
                    &result.mechanism,
                    &output,
                    &result.flags,
                    &result.remainingSeconds,
                    nil
                )
            }
        }
        context.raw = raw
        let answer = takeBytes(&output)
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: credential.keytab) }
        if major & ckerberos_s_continue_needed != 0 { return .proceed(token: answer, self) }
        let established = try EstablishedContext(context, result, requested: [], subject: credential.keytab)
        return .established(token: answer.isEmpty ? nil : answer, established)
    }
}

/// What follows a step of the server's end.
public enum AcceptorStep: ~Copyable, Sendable {
    /// Send the token and feed the client's answer to the next state.
    case proceed(token: [UInt8], SPNEGOAcceptor)
    /// The client is known; the token, if there is one, proves the server to it.
    case established(token: [UInt8]?, EstablishedContext)
}

/// A service's keys, ready to accept contexts. Use it from any thread.
public final class AcceptorCredential: Sendable {
    let handle: GSSCredentialHandle
    let keytab: String

    /// Whether tokens that come twice are refused.
    public enum ReplayCache: Sendable {
        /// libkrb5's replay cache, on disk: the safe choice.
        case standard
        /// None: for tests, and where each context ends with mutual authentication over TLS.
        case disabled
    }

    /// Opens a keytab. The keys of every principal in it are accepted.
    ///
    /// - Throws: ``KerberosError`` when the keytab is not there, empty, or the process's krb5.conf is broken.
    public init(keytab: String, replayCache: ReplayCache = .standard) throws(KerberosError) {
        // GSSAPI has one text for all faults of a keytab, and it speaks of mechanisms.
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        try context.withKeytab(.keytab(keytab), subject: keytab) { _ in }
        var store = [("keytab", keytab)]
        if replayCache == .disabled { store.append(("rcache", "none:")) }
        self.keytab = keytab
        handle = try GSSCredentialHandle(usage: GSS_C_ACCEPT, store: store, subject: keytab)
    }
}
