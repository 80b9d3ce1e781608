internal import CKerberos
internal import SystemSupport

/// The server side of a SPNEGO negotiation (RFC 4178).
public struct SPNEGOAcceptor: ~Copyable, Sendable {
    private var context = SecurityContextHandle()
    private let credential: AcceptorCredential
    private let bindings: ChannelBindings?

    /// Starts a negotiation.
    ///
    /// - Parameters:
    ///   - credential: The service's keys.
    ///   - channelBindings: Compared with the client's. libkrb5 also accepts a client that sends none: to require them, check
    ///     ``ContextFlags/channelBound`` of the established context.
    public init(credential: AcceptorCredential, channelBindings: ChannelBindings? = nil) {
        self.credential = credential
        bindings = channelBindings
    }

    /// Processes the client's token. May block while the replay cache is written to disk: in a task, use
    /// ``AcceptorCredential/accept(_:channelBindings:)``.
    ///
    /// - Throws: ``KerberosError``: `invalidToken`, `channelBindingsDiffer`, `ticketExpired` and `clockSkew` reject the client. Another
    ///   code is a fault of this server, such as a keytab that cannot be read or has an old key.
    public consuming func step(_ token: [UInt8]) throws(KerberosError) -> AcceptorStep {
        // libgssapi would answer an empty token with its list of mechanisms.
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
        if ckerberos_gss_is_error(major) != 0 { throw .accepting(major, minor, keytab: credential.keytab) }
        if major & ckerberos_s_continue_needed != 0 { return .proceed(token: answer, self) }
        let established = try EstablishedContext(context, result, requested: [], subject: credential.keytab)
        return .established(token: answer.isEmpty ? nil : answer, established)
    }
}

/// The result of a step of the server side.
public enum AcceptorStep: ~Copyable, Sendable {
    /// Send the token, and pass the client's reply to the next state.
    case proceed(token: [UInt8], SPNEGOAcceptor)
    /// The client is authenticated; the token, if any, proves the server's identity to it.
    case established(token: [UInt8]?, EstablishedContext)
}

/// A service's keys, ready to accept contexts. It can be used from any thread.
public final class AcceptorCredential: Sendable {
    let handle: GSSCredentialHandle
    let keytab: String

    /// Whether repeated tokens are rejected.
    public enum ReplayCache: Sendable {
        /// libkrb5's replay cache on disk, the secure choice.
        case standard
        /// None, for tests and for services where each context ends with mutual authentication over TLS.
        case disabled
    }

    /// Opens a keytab. The keys of all its principals are accepted.
    ///
    /// - Throws: ``KerberosError`` if the keytab is missing or empty, or the process's krb5.conf is invalid.
    public init(keytab: String, replayCache: ReplayCache = .standard) throws(KerberosError) {
        // libkrb5 reports what is wrong with the keytab; GSSAPI has one message for all faults, which mentions mechanisms.
        let context = try Context(RealmConfiguration(realm: "", base: .none))
        try context.withKeytab(.keytab(keytab), subject: keytab) { _ in }
        var store = [("keytab", keytab)]
        if replayCache == .disabled { store.append(("rcache", "none:")) }
        self.keytab = keytab
        handle = try GSSCredentialHandle(usage: GSS_C_ACCEPT, store: store, subject: keytab)
    }
}

extension AcceptorCredential {
    /// Processes the first token of a client on a thread that may block for the replay cache, so that any task can call it.
    ///
    /// Each call is a negotiation of its own, and many may run at once. The call ignores the cancellation of its task.
    ///
    /// - Parameters:
    ///   - token: The client's token, decoded from base64.
    ///   - channelBindings: Compared with the client's; see ``SPNEGOAcceptor/init(credential:channelBindings:)``.
    /// - Throws: ``KerberosError`` with the codes of ``SPNEGOAcceptor/step(_:)``.
    public func accept(_ token: [UInt8], channelBindings: ChannelBindings? = nil) async throws(KerberosError) -> AcceptorStep {
        let accepted = await BlockingCall.run {
            Result { () throws(KerberosError) in
                Handover(try SPNEGOAcceptor(credential: self, channelBindings: channelBindings).step(token))
            }
        }
        guard let step = try accepted.get().take() else {
            throw KerberosError(.other, subject: keytab, message: "the result was taken twice.")
        }
        return step
    }
}
