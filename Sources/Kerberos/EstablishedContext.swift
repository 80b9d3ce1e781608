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
    /// Seconds that the context still holds.
    public let remainingSeconds: UInt32

    /// - Parameter names: What a ticket says of both ends, where there is one: each name that GSSAPI is asked for costs several libkrb5
    ///   contexts. Nil asks it.
    init(
        _ context: consuming SecurityContextHandle,
        granted: ContextFlags,
        requested: ContextFlags,
        names: (initiator: String, acceptor: String)? = nil,
        subject: String
    ) throws(KerberosError) {
        var minor: OM_uint32 = 0
        var source: gss_name_t?
        var target: gss_name_t?
        var lifetime: OM_uint32 = 0
        var mechanism: gss_OID?
        let major =
            names == nil
            ? gss_inquire_context(&minor, context.raw, &source, &target, &lifetime, &mechanism, nil, nil, nil)
            : gss_inquire_context(&minor, context.raw, nil, nil, &lifetime, &mechanism, nil, nil, nil)
        let (initiator, acceptor) = names ?? (takeName(&source), takeName(&target))
        if ckerberos_gss_is_error(major) != 0 { throw .gss(major, minor, subject: subject) }
        guard ckerberos_oid_equal(mechanism, ckerberos_mech_krb5()) != 0 else {
            throw KerberosError(.invalidToken, subject: subject, message: "the server negotiated another mechanism than Kerberos.")
        }
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
        remainingSeconds = lifetime
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
