internal import CKerberos
internal import Synchronization

/// The client side of a SPNEGO negotiation (RFC 4178) with Kerberos as the only mechanism inside: never NTLM, even if it is installed.
///
/// Each step consumes its state, so a context cannot be used twice or after a failure.
public struct SPNEGOInitiator: ~Copyable, Sendable {
    private var context = SecurityContextHandle()
    private let credential: InitiatorCredential
    private let bindings: ChannelBindings?
    private let flags: ContextFlags
    /// The flags granted so far. Delegation is final with the first token, which contains the forwarded ticket or does not.
    public private(set) var granted: ContextFlags = []

    /// Creates the first token. Does not block: uses no network and no ticket file.
    ///
    /// - Parameters:
    ///   - credential: The service ticket, without a ticket-granting ticket: for delegation use
    ///     ``KerberosClient/beginNegotiation(with:flags:channelBindings:deadline:)``.
    ///   - flags: The requested flags. The context is established only if all are granted, except delegation and channel binding.
    ///   - channelBindings: Those of the TLS connection that will carry the token.
    /// - Throws: ``KerberosError``; `noCredentials` if the ticket has expired.
    public static func begin(
        with credential: InitiatorCredential,
        flags: ContextFlags = [.mutualAuthentication, .integrity],
        channelBindings: ChannelBindings? = nil
    ) throws(KerberosError) -> InitiatorStep {
        guard !credential.canDelegate else {
            let message = "a credential that can delegate may have to wait for the KDC. Start the exchange with the realm's KerberosClient."
            throw KerberosError(.other, subject: credential.server.description, message: message)
        }
        return try start(with: credential, flags: flags, channelBindings: channelBindings)
    }

    /// Creates the first token from any credential: one that can delegate blocks until the KDC has replied.
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

    /// Processes the server's token.
    ///
    /// - Throws: ``KerberosError``; `refusedByServer` if the server rejects the ticket, `flagsNotGranted` if it accepts the ticket without
    ///   the requested mutual authentication, `invalidToken` if the token is malformed or selects another mechanism.
    public consuming func step(_ token: [UInt8]) throws(KerberosError) -> InitiatorStep {
        let subject = credential.server.description
        guard !token.isEmpty else { throw KerberosError(.invalidToken, subject: subject, message: "the server's token is empty.") }
        switch NegotiationResponse(token) {
        case .some(let response) where response.state == .reject:
            let refusal = KerberosError(
                .refusedByServer,
                subject: subject,
                message: "the server rejected the ticket without giving a reason. Check its keytab, its clock and its access rules."
            )
            guard response.hasMechanismToken else { throw refusal }
            do throws(KerberosError) { return try advance(token) } catch { throw error.code == .invalidToken ? refusal : error }
        case .some(let response) where !response.hasMechanismToken && flags.contains(.mutualAuthentication):
            let message = "the server accepted the ticket without the proof (AP-REP) that it is this service."
            let unproven = KerberosError(.flagsNotGranted, subject: subject, message: message)
            // An earlier token may have contained the proof, as in DCE style: libgssapi knows.
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
        let answer = takeBytes(&output)  // a token that accompanies an error is not sent
        if ckerberos_gss_is_error(major) != 0 {
            let error = KerberosError.gss(major, minor, subject: credential.server.description)
            if token.isEmpty {
                // The clock skew is longer than the ticket's lifetime.
                let isExpiry = [.ticketExpired, .noCredentials].contains(error.code)
                throw isExpiry && credential.isValidByKDCClock ? error.because(.clockSkew) : error
            }
            // A server reports a ticket as expired that is valid by the KDC's clock if its own clock is wrong.
            if error.code == .clockSkew || error.code == .ticketExpired && credential.isValidByKDCClock { throw error.asClockRefusal }
            // A well-formed token that fails contains the server's error (KRB-ERROR, RFC 4121 section 4.1).
            throw error.code == .other ? error.asRefusal : error
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
        // The closures cannot capture self, which is noncopyable.
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
                        credential.handles.target.raw,
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

/// The result of a step of the client side.
public enum InitiatorStep: ~Copyable, Sendable {
    /// Send the token, and pass the server's reply to the next state.
    case proceed(token: [UInt8], SPNEGOInitiator)
    /// The context is established; the token, if any, must still be sent.
    case established(token: [UInt8]?, EstablishedContext)
}

extension KerberosClient {
    /// Creates the first token of a negotiation on the realm's thread, with a credential that can delegate.
    ///
    /// GSSAPI then requests a forwarded ticket from the KDC. It finds the KDC in this process's krb5.conf (`KRB5_CONFIG`) alone, not in
    /// ``configuration``, or in DNS if that file names no KDC of the realm. If no KDC answers, the KDC rejects the request, or the
    /// ticket-granting ticket is not forwardable, the token is created without it: check ``SPNEGOInitiator/granted`` for `delegation`.
    ///
    /// - Parameters:
    ///   - credential: The service ticket, with or without the ticket-granting ticket.
    ///   - flags: The requested flags; `delegation` or `delegationByPolicy` to delegate.
    ///   - channelBindings: Those of the TLS connection that will carry the token.
    ///   - deadline: How long to wait for a KDC; nil is 10 seconds with one known KDC, else 25.
    /// - Throws: ``KerberosError``; `kdcUnreachable` if the deadline has passed, `noCredentials` if the ticket has expired.
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

/// Moves a noncopyable value out of a call whose result must be copyable. The first `take()` gets it.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: consuming sending Value) {
        self.value = Mutex(value)
    }

    func take() -> Value? {
        value.withLock { $0.take() }
    }
}

/// A server's NegTokenResp (RFC 4178 section 4.2.2): its state, and whether it contains a mechanism token.
///
/// libgssapi reports a rejection, and an acceptance without proof, as a defective token, although they are decisions of the server.
struct NegotiationResponse: Equatable {
    /// The `negState` values that end a negotiation.
    enum State: UInt8 {
        case acceptCompleted = 0
        case reject = 2
    }

    let state: State
    /// Whether it contains a Kerberos token: an AP-REP, or the server's error.
    let hasMechanismToken: Bool

    private static let response: UInt8 = 0xA1
    private static let stateField: UInt8 = 0xA0
    private static let mechanismField: UInt8 = 0xA1
    private static let mechanismTokenField: UInt8 = 0xA2
    /// The DER elements of Kerberos (RFC 4121 section 1), and of the identifier that Windows uses for it.
    private static let mechanisms: [[UInt8]] = [
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02],
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x82, 0xF7, 0x12, 0x01, 0x02, 0x02],
    ]

    /// Nil for any other state or mechanism, and for bytes that are not a NegTokenResp: libgssapi handles these.
    init?(_ token: [UInt8]) {
        var whole = token[...]
        guard var response = BasicEncoding.next(in: &whole, Self.response), whole.isEmpty,
            var fields = BasicEncoding.next(in: &response, BasicEncoding.sequence), response.isEmpty
        else { return nil }
        guard var stateField = BasicEncoding.next(in: &fields, Self.stateField),
            let value = BasicEncoding.next(in: &stateField, BasicEncoding.enumerated), stateField.isEmpty,
            value.count == 1, let state = value.first.flatMap({ State(rawValue: $0) })
        else { return nil }
        var hasMechanismToken = false
        while let tag = fields.first {
            guard let content = BasicEncoding.next(in: &fields, tag) else { return nil }
            if tag == Self.mechanismField, !Self.mechanisms.contains(Array(content)) { return nil }
            if tag == Self.mechanismTokenField { hasMechanismToken = true }
        }
        self.state = state
        self.hasMechanismToken = hasMechanismToken
    }
}
