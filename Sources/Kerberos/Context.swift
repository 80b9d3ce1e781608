internal import CKerberos

/// Owns one `krb5_context` made from a realm's own profile. Not Sendable: it lives in one actor or behind one lock.
final class Context {
    let raw: krb5_context
    private let traceSink: TraceSink?
    /// Keeps what libkrb5 has a pointer to.
    var replies: ReplyNote?
    /// What protects sign-ins.
    let armorCache: CredentialCacheName?

    init(_ configuration: RealmConfiguration, trace: (@Sendable (String) -> Void)? = nil) throws(KerberosError) {
        let profile = try configuration.makeProfile()
        defer { profile_release(profile) }
        var raw: krb5_context?
        let status = krb5_init_context_profile(profile, 0, &raw)
        guard status == 0, let raw else {
            throw .library(status, .readConfiguration, subject: configuration.baseDescription, context: nil)
        }
        self.raw = raw
        armorCache = configuration.armorCache
        traceSink = trace.map(TraceSink.init)
        if let traceSink {
            krb5_set_trace_callback(
                raw,
                { _, info, data in
                    guard let info, let message = info.pointee.message, let data else { return }
                    Unmanaged<TraceSink>.fromOpaque(data).takeUnretainedValue().write(String(cString: message))
                },
                Unmanaged.passUnretained(traceSink).toOpaque()
            )
        }
        if let name = configuration.defaultCacheName {
            try check(krb5_cc_set_default_name(raw, name), .readCache, subject: name)
        }
    }

    deinit {
        ProcessEnd.free { krb5_free_context(raw) }
    }

    /// Throws the complete error unless the status is 0.
    func check(
        _ status: krb5_error_code,
        _ operation: KerberosError.Operation,
        subject: @autoclosure () -> String,
        client: @autoclosure () -> String? = nil
    ) throws(KerberosError) {
        if status != 0 { throw .library(status, operation, subject: subject(), client: client(), context: raw) }
    }
}

/// Holds the closure for libkrb5's trace lines, since C takes a plain pointer.
private final class TraceSink {
    let write: @Sendable (String) -> Void
    init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }
}
