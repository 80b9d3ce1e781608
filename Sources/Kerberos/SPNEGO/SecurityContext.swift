internal import CKerberos

/// A security context that stands: both ends are known, and what was asked for was granted; delegation and channel binding, which may be
/// refused, are for the caller to look for in ``flags``.
public struct EstablishedContext: ~Copyable, Sendable {
    private let context: SecurityContextHandle
    /// The name of the end that initiated: the user.
    public let initiator: String
    /// The name of the end that accepted: the service.
    public let acceptor: String
    /// What was granted.
    public let flags: ContextFlags
    /// For how many seconds the ticket is still valid; 0 if it expired while the server was answering, which does not undo what was proven.
    public let remainingSeconds: UInt32

    /// - Parameters:
    ///   - result: What the last call of `gss_init_sec_context` or `gss_accept_sec_context` returned.
    ///   - names: What a ticket says of both ends, if there is one: each name that GSSAPI is asked for costs several libkrb5 contexts. Nil
    ///     asks it.
    init(
        _ context: consuming SecurityContextHandle,
        _ result: EstablishmentResult,
        requested: ContextFlags,
        names: (initiator: String, acceptor: String)? = nil,
        subject: String
    ) throws(KerberosError) {
        let granted = result.granted
        guard ckerberos_oid_equal(result.mechanism, ckerberos_mech_krb5()) != 0 else {
            throw KerberosError(.invalidToken, subject: subject, message: "the server negotiated another mechanism than Kerberos.")
        }
        let (initiator, acceptor) = if let names { names } else { try context.names(subject: subject) }
        let missing = requested.subtracting(granted).subtracting(.wishes)
        guard missing.isEmpty else {
            throw KerberosError(
                .flagsNotGranted,
                subject: subject,
                message: "the security context grants less than was asked: \(missing.names) is missing."
            )
        }
        self.context = context
        self.initiator = initiator
        self.acceptor = acceptor
        flags = granted
        remainingSeconds = result.remainingSeconds
    }
}

/// What `gss_init_sec_context` and `gss_accept_sec_context` return of a context that they have established.
struct EstablishmentResult {
    var mechanism: gss_OID?
    var flags: OM_uint32 = 0
    var remainingSeconds: OM_uint32 = 0

    var granted: ContextFlags { ContextFlags(rawValue: flags) }
}

extension SecurityContextHandle {
    /// The names of both ends, by `gss_inquire_context`.
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
        ]
        let others = all.reduce(self) { $0.subtracting($1.0) }
        let names = all.filter { contains($0.0) }.map(\.1) + (others.isEmpty ? [] : ["flag 0x\(String(others.rawValue, radix: 16))"])
        return names.joined(separator: ", ")
    }
}

/// What a security context offers (RFC 2743 section 1.2.2): asked for by the initiator, then held against what was granted.
public struct ContextFlags: OptionSet, Sendable, Hashable {
    /// The bits of `GSS_C_…_FLAG`.
    public let rawValue: UInt32
    /// Flags by their bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The server proves itself too: `GSS_C_MUTUAL_FLAG`.
    public static let mutualAuthentication = ContextFlags(rawValue: UInt32(GSS_C_MUTUAL_FLAG))
    /// Messages can be signed: `GSS_C_INTEG_FLAG`.
    public static let integrity = ContextFlags(rawValue: UInt32(GSS_C_INTEG_FLAG))
    /// A message that comes twice is noticed: `GSS_C_REPLAY_FLAG`.
    public static let replayDetection = ContextFlags(rawValue: UInt32(GSS_C_REPLAY_FLAG))
    /// The user's own ticket goes to the server: `GSS_C_DELEG_FLAG`. Never asked for by default, and asking is no promise: look whether it
    /// is among the flags granted.
    public static let delegation = ContextFlags(rawValue: UInt32(GSS_C_DELEG_FLAG))
    /// The same, where the KDC vouches for the service: `GSS_C_DELEG_POLICY_FLAG`.
    public static let delegationByPolicy = ContextFlags(rawValue: UInt32(GSS_C_DELEG_POLICY_FLAG))
    /// The acceptor saw the same channel bindings: `GSS_C_CHANNEL_BOUND_FLAG`. The acceptor alone learns it.
    ///
    /// An initiator that asks for it and has no bindings wants acceptors with bindings to refuse the token. libkrb5 1.20 does not hand the
    /// wish on; `client_aware_channel_bindings` of the process's krb5.conf does the same there.
    public static let channelBound = ContextFlags(rawValue: 0x800)

    /// What may be asked for and not be granted: a context without it stands all the same.
    static let wishes: ContextFlags = [.delegation, .delegationByPolicy, .channelBound]
}

/// Ties a security context to the TLS connection that carries it (RFC 5929): `tls-server-end-point:` and the certificate's hash.
public struct ChannelBindings: Sendable, Hashable {
    /// The application data, prefix included.
    public let applicationData: [UInt8]

    /// Bindings with this application data; addresses are left out.
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

/// Owns one `gss_ctx_id_t`, which one thread at a time may use: it can't be copied, so it has one owner at any time.
///
/// `@unchecked Sendable`: libgssapi ties a context to no thread, and the single owner keeps two threads from using it at once.
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

/// Takes the bytes of a buffer that GSSAPI made, and releases it.
func takeBytes(_ buffer: inout gss_buffer_desc) -> [UInt8] {
    defer {
        var minor: OM_uint32 = 0
        gss_release_buffer(&minor, &buffer)
    }
    return Array(buffer.bytes)
}

/// The text of a name, and releases it.
func takeName(_ name: inout gss_name_t?) -> String {
    guard name != nil else { return "" }
    var minor: OM_uint32 = 0
    var buffer = gss_buffer_desc()
    defer { gss_release_name(&minor, &name) }
    guard gss_display_name(&minor, name, &buffer, nil) == GSS_S_COMPLETE else { return "" }
    return String(decoding: takeBytes(&buffer), as: UTF8.self)
}
