internal import CKerberos
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

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

/// Keeps what is libkrb5's from being freed after libkrb5 itself has gone.
///
/// A process that ends takes the library's locks down, while another thread may be about to let go of the last reference to a context:
/// the library would abort the process. What is not freed then goes with the process.
enum ProcessEnd {
    private static let begun = Atomic(false)
    private static let freeing = Mutex(())

    /// Whether the process is ending. Handlers of `atexit` run before libraries are taken down.
    static var hasBegun: Bool {
        _ = registration
        return begun.load(ordering: .acquiring)
    }

    /// Frees something, unless the process is ending; its end waits for what is being freed now.
    static func free(_ body: () -> Void) {
        freeing.withLock { _ in
            if !hasBegun { body() }
        }
    }

    private static let registration: Void = {
        atexit { freeing.withLock { _ in begun.store(true, ordering: .releasing) } }
    }()
}
