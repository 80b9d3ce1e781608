internal import CKerberos
internal import Synchronization

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

/// Takes a value that can't be copied out of a call whose result must be copyable. Whoever asks first has it.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: consuming sending Value) {
        self.value = Mutex(value)
    }

    func take() -> Value? {
        value.withLock { $0.take() }
    }
}

/// What a server's NegTokenResp (RFC 4178 section 4.2.2) says: its state, and whether it carries a token of the mechanism.
///
/// libgssapi reports a reject, and an acceptance without proof, as a defective token; they are what the server decided.
struct NegotiationResponse: Equatable {
    /// The `negState` values that end a negotiation.
    enum State: UInt8 {
        case acceptCompleted = 0
        case reject = 2
    }

    let state: State
    /// Whether a token of Kerberos comes along: an AP-REP, or the server's error.
    let hasMechanismToken: Bool

    private static let response: UInt8 = 0xA1
    private static let sequence: UInt8 = 0x30
    private static let stateField: UInt8 = 0xA0
    private static let mechanismField: UInt8 = 0xA1
    private static let mechanismTokenField: UInt8 = 0xA2
    private static let enumerated: UInt8 = 0x0A
    /// Kerberos (RFC 4121 section 1), and the identifier that Windows has for it, as elements.
    private static let mechanisms: [[UInt8]] = [
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02],
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 0x01, 0x02, 0x02],
    ]

    /// Nil for any other state or mechanism, and for bytes that are no NegTokenResp: libgssapi decides about these.
    init?(_ token: [UInt8]) {
        var whole = token[...]
        guard var response = Self.content(of: Self.response, in: &whole), whole.isEmpty,
            var fields = Self.content(of: Self.sequence, in: &response), response.isEmpty
        else { return nil }
        guard var stateField = Self.content(of: Self.stateField, in: &fields),
            let value = Self.content(of: Self.enumerated, in: &stateField), stateField.isEmpty,
            value.count == 1, let state = value.first.flatMap({ State(rawValue: $0) })
        else { return nil }
        var hasMechanismToken = false
        while let tag = fields.first {
            guard let content = Self.content(of: tag, in: &fields) else { return nil }
            if tag == Self.mechanismField, !Self.mechanisms.contains(Array(content)) { return nil }
            if tag == Self.mechanismTokenField { hasMechanismToken = true }
        }
        self.state = state
        self.hasMechanismToken = hasMechanismToken
    }

    /// Takes one element with a definite length (X.690 section 8.1) off the front.
    private static func content(of tag: UInt8, in bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard 1...4 ~= count, bytes.count >= count else { return nil }
            length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            bytes.removeFirst(count)
        }
        guard bytes.count >= length else { return nil }
        defer { bytes.removeFirst(length) }
        return bytes.prefix(length)
    }
}
