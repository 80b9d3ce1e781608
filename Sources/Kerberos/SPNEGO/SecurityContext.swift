internal import CKerberos

/// An established security context: both sides are identified, and the requested flags were granted. Delegation and channel binding may be
/// missing; check ``flags``.
public struct EstablishedContext: ~Copyable, Sendable {
    let context: SecurityContextHandle
    /// The name of the initiator, the user.
    public let initiator: String
    /// The name of the acceptor, the service.
    public let acceptor: String
    /// The granted flags.
    public let flags: ContextFlags
    /// For how many seconds the ticket is still valid; 0 if it expired while the server was answering, which does not affect the context.
    public let remainingSeconds: UInt32

    /// - Parameters:
    ///   - result: What the last call of `gss_init_sec_context` or `gss_accept_sec_context` returned.
    ///   - names: Both names from the ticket, if known; nil asks GSSAPI, which costs several libkrb5 contexts per name.
    init(
        _ context: consuming SecurityContextHandle,
        _ result: EstablishmentResult,
        requested: ContextFlags,
        names: (initiator: String, acceptor: String)? = nil,
        subject: String
    ) throws(KerberosError) {
        let granted = result.granted
        guard ckerberos_oid_equal(result.mechanism, ckerberos_mech_krb5()) != 0 else {
            throw KerberosError(.invalidToken, subject: subject, message: "the two sides negotiated a mechanism other than Kerberos.")
        }
        let (initiator, acceptor) = if let names { names } else { try context.names(subject: subject) }
        let missing = requested.subtracting(granted).subtracting(.wishes)
        guard missing.isEmpty else {
            throw KerberosError(
                .flagsNotGranted,
                subject: subject,
                message: "the security context grants less than was requested: \(missing.names) is missing."
            )
        }
        self.context = context
        self.initiator = initiator
        self.acceptor = acceptor
        flags = granted
        // libkrb5 returns the difference of two times, which is negative if the ticket expired more than a second ago.
        remainingSeconds = UInt32(max(Int32(bitPattern: result.remainingSeconds), 0))
    }
}

/// The values that `gss_init_sec_context` and `gss_accept_sec_context` return for an established context.
struct EstablishmentResult {
    var mechanism: gss_OID?
    var flags: OM_uint32 = 0
    var remainingSeconds: OM_uint32 = 0

    var granted: ContextFlags { ContextFlags(rawValue: flags) }
}

extension SecurityContextHandle {
    /// The names of both sides, from `gss_inquire_context`.
    fileprivate func names(subject: String) throws(KerberosError) -> (initiator: String, acceptor: String) {
        var minor: OM_uint32 = 0
        var source: gss_name_t?
        var target: gss_name_t?
        let major = gss_inquire_context(&minor, raw, &source, &target, nil, nil, nil, nil, nil)
        let names = (takeName(&source), takeName(&target))
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: subject) }
        return names
    }
}

extension ContextFlags {
    /// The flags' names, for messages.
    fileprivate var names: String {
        let all: [(ContextFlags, String)] = [
            (.mutualAuthentication, "mutual authentication"), (.integrity, "integrity"), (.replayDetection, "replay detection"),
            (.confidentiality, "confidentiality"), (.sequenceDetection, "sequence detection"),
        ]
        let others = all.reduce(self) { $0.subtracting($1.0) }
        let names = all.filter { contains($0.0) }.map(\.1) + (others.isEmpty ? [] : ["flag 0x\(String(others.rawValue, radix: 16))"])
        return names.joined(separator: ", ")
    }
}

/// The services of a security context (RFC 2743 section 1.2.2): requested by the initiator, then compared with what was granted.
public struct ContextFlags: OptionSet, Sendable, Hashable {
    /// The bits of `GSS_C_…_FLAG`.
    public let rawValue: UInt32
    /// Creates flags from their bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The server authenticates too: `GSS_C_MUTUAL_FLAG`.
    public static let mutualAuthentication = ContextFlags(rawValue: UInt32(GSS_C_MUTUAL_FLAG))
    /// Messages can be signed: `GSS_C_INTEG_FLAG`.
    public static let integrity = ContextFlags(rawValue: UInt32(GSS_C_INTEG_FLAG))
    /// Messages can be encrypted: `GSS_C_CONF_FLAG`.
    public static let confidentiality = ContextFlags(rawValue: UInt32(GSS_C_CONF_FLAG))
    /// Messages out of order are detected: `GSS_C_SEQUENCE_FLAG`.
    public static let sequenceDetection = ContextFlags(rawValue: UInt32(GSS_C_SEQUENCE_FLAG))
    /// Repeated messages are detected: `GSS_C_REPLAY_FLAG`.
    public static let replayDetection = ContextFlags(rawValue: UInt32(GSS_C_REPLAY_FLAG))
    /// A forwarded ticket of the user goes to the server: `GSS_C_DELEG_FLAG`. Not requested by default. It may be refused, so check the
    /// granted flags.
    public static let delegation = ContextFlags(rawValue: UInt32(GSS_C_DELEG_FLAG))
    /// Delegation only if the KDC trusts the service: `GSS_C_DELEG_POLICY_FLAG`.
    public static let delegationByPolicy = ContextFlags(rawValue: UInt32(GSS_C_DELEG_POLICY_FLAG))
    /// The acceptor saw the same channel bindings: `GSS_C_CHANNEL_BOUND_FLAG`. Only the acceptor learns this.
    ///
    /// An initiator that requests it without bindings asks acceptors with bindings to reject the token. libkrb5 1.20 does not transmit
    /// this; there, `client_aware_channel_bindings` in the process's krb5.conf has the same effect.
    public static let channelBound = ContextFlags(rawValue: 0x800)

    /// Flags that may be requested and not granted: the context is established without them.
    static let wishes: ContextFlags = [.delegation, .delegationByPolicy, .channelBound]
}

/// Binds a security context to the TLS connection that carries it (RFC 5929): `tls-server-end-point:` and the certificate's hash.
public struct ChannelBindings: Sendable, Hashable {
    /// The application data, including the prefix.
    public let applicationData: [UInt8]

    /// Creates bindings with this application data and without addresses.
    public init(applicationData: [UInt8]) {
        self.applicationData = applicationData
    }
}

extension ChannelBindings {
    /// Lends GSSAPI's structure, or nil for no bindings.
    static func withRaw<Value>(_ bindings: ChannelBindings?, _ body: (gss_channel_bindings_t?) -> Value) -> Value {
        guard let bindings else { return body(nil) }
        return bindings.applicationData.withUnsafeBytes { bytes in
            var raw = gss_channel_bindings_struct()
            raw.application_data.length = bytes.count
            raw.application_data.value = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            return withUnsafeMutablePointer(to: &raw) { body($0) }
        }
    }
}

/// Owns a `gss_ctx_id_t`, which only one thread at a time may use. It is noncopyable, so it has one owner at any time.
///
/// `@unchecked Sendable`: libgssapi does not tie a context to a thread, and the single owner prevents concurrent use.
struct SecurityContextHandle: ~Copyable, @unchecked Sendable {
    var raw: gss_ctx_id_t?

    init() {}

    deinit {
        guard raw != nil, !ProcessEnd.hasBegun else { return }
        var minor: OM_uint32 = 0
        var raw = raw
        gss_delete_sec_context(&minor, &raw, nil)
    }
}

/// Takes the bytes of a buffer that GSSAPI allocated, and releases it.
func takeBytes(_ buffer: inout gss_buffer_desc) -> [UInt8] {
    defer {
        var minor: OM_uint32 = 0
        gss_release_buffer(&minor, &buffer)
    }
    return Array(buffer.bytes)
}

/// Returns the text of a name, and releases the name.
func takeName(_ name: inout gss_name_t?) -> String {
    guard name != nil else { return "" }
    var minor: OM_uint32 = 0
    var buffer = gss_buffer_desc()
    defer { gss_release_name(&minor, &name) }
    guard gss_display_name(&minor, name, &buffer, nil) == GSS_S_COMPLETE else { return "" }
    return String(decoding: takeBytes(&buffer), as: UTF8.self)
}
