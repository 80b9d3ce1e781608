internal import CKerberos
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Owns one `krb5_context`, created from a realm's own profile. Not Sendable: it is confined to one actor or one lock.
final class Context {
    let raw: krb5_context
    private let traceSink: TraceSink
    /// Keeps alive the object that libkrb5 has a pointer to.
    var replies: ReplyNote?
    /// The cache of the ticket used as FAST armor.
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
        traceSink = TraceSink(trace)
        let usesProxy = (try? values(["realms", configuration.realm, "kdc"]))?.contains { $0.hasPrefix("https://") } ?? false
        // With a callback, libkrb5 writes no trace to the file of KRB5_TRACE.
        if trace != nil || (usesProxy || configuration.signsInByCertificateAlone) && !Self.isTracedToFile {
            krb5_set_trace_callback(
                raw,
                { _, info, data in
                    guard let info, let message = info.pointee.message, let data else { return }
                    Unmanaged<TraceSink>.fromOpaque(data).takeUnretainedValue().receive(String(cString: message))
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

    /// Runs a call that may contact a KDC. If the certificate of a KDC proxy was refused, its error says so.
    ///
    /// libkrb5's TLS plugin reports the reason only in the trace.
    func namingProxyRefusals<Value>(_ body: () throws(KerberosError) -> Value) throws(KerberosError) -> Value {
        (traceSink.refusal, traceSink.certificateRefusal) = (nil, nil)
        do throws(KerberosError) {
            return try body()
        } catch  where [.kdcUnreachable, .realmUnknown].contains(error.code) {
            throw traceSink.refusal.map { error.saying($0.sentence) } ?? error
        }
    }

    /// Why the KDC's certificate was refused during the current call; nil if it was not. Known only if the context signs in by certificate.
    var refusalOfKDC: KDCCertificateRefusal? { traceSink.certificateRefusal }

    /// Whether the user asked libkrb5 to write its trace to a file.
    private static var isTracedToFile: Bool { getenv("KRB5_TRACE").map { $0.pointee != 0 } ?? false }

    /// Throws the error for a status other than 0, with its complete text.
    func check(
        _ status: krb5_error_code,
        _ operation: KerberosError.Operation,
        subject: @autoclosure () -> String,
        client: @autoclosure () -> String? = nil
    ) throws(KerberosError) {
        if status != 0 { throw .library(status, operation, subject: subject(), client: client(), context: raw) }
    }
}

/// Receives libkrb5's trace messages, on the thread of the context.
private final class TraceSink {
    private let write: (@Sendable (String) -> Void)?
    /// Why the certificate of a KDC proxy was refused during the current call.
    var refusal: ProxyRefusal?
    /// Why the KDC's certificate was refused during the current call.
    var certificateRefusal: KDCCertificateRefusal?

    init(_ write: (@Sendable (String) -> Void)?) { self.write = write }

    func receive(_ message: String) {
        write?(message)
        if let refusal = ProxyRefusal(trace: message) { self.refusal = refusal }
        if let refusal = KDCCertificateRefusal(trace: message) { certificateRefusal = refusal }
    }
}

/// Prevents libkrb5's objects from being freed after libkrb5 itself has shut down.
///
/// At process exit the library destroys its locks, while another thread may release the last reference to a context: libkrb5 would then
/// abort the process. Objects that are not freed are reclaimed with the process.
enum ProcessEnd {
    private static let begun = Atomic(false)
    private static let freeing = Mutex(())

    /// Whether the process is exiting. `atexit` handlers run before libraries shut down.
    static var hasBegun: Bool {
        _ = registration
        return begun.load(ordering: .acquiring)
    }

    /// Frees something unless the process is exiting; exit waits for a free that is in progress.
    static func free(_ body: () -> Void) {
        freeing.withLock { _ in
            if !hasBegun { body() }
        }
    }

    private static let registration: Void = {
        atexit { freeing.withLock { _ in begun.store(true, ordering: .releasing) } }
    }()
}
