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
