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
    /// The certificate that libkrb5's plugin was given for this context.
    var certificateIdentity: String?
    /// The cache of the ticket used as FAST armor.
    let armorCache: CredentialCacheName?
    /// Whether only certificates of some issuers may sign in.
    let filtersIssuers: Bool

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
        filtersIssuers = configuration.certificateIssuer != nil
        traceSink = TraceSink(trace)
        let usesProxy = (try? values(["realms", configuration.realm, "kdc"]))?.contains { $0.hasPrefix("https://") } ?? false
        if trace != nil || usesProxy || configuration.certificateOwner != nil {
            traceSink.openFile()
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
        traceSink.reset()
        do throws(KerberosError) {
            return try body()
        } catch  where [.kdcUnreachable, .realmUnknown].contains(error.code) {
            throw traceSink.refusal.map { error.saying($0.sentence) } ?? error
        }
    }

    /// Why the KDC's certificate was refused during the current call; nil if it was not. Known only if the context signs in by certificate.
    var refusalOfKDC: KDCCertificateRefusal? { traceSink.certificateRefusal }

    /// Why no certificate was found to sign in with during the current call. Known only if the context signs in by certificate.
    var faultOfCertificates: CertificateSearch.Fault? { traceSink.certificateSearch.fault }

    /// Whether the KDC's reply could not be decrypted with the key of the pre-authentication in the current call. Known only if the context
    /// signs in by certificate.
    var hasUnreadableReply: Bool { traceSink.hasUnreadableReply }

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
    private let observe: (@Sendable (String) -> Void)?
    /// The user's file for the trace, to which libkrb5 itself writes nothing if it has a callback; -1 if there is none.
    private var file: CInt = -1
    /// Why the certificate of a KDC proxy was refused during the current call.
    var refusal: ProxyRefusal?
    /// Why the KDC's certificate was refused during the current call.
    var certificateRefusal: KDCCertificateRefusal?
    /// What was found of the user's certificates during the current call.
    var certificateSearch = CertificateSearch()
    /// Whether the KDC's reply could not be decrypted with the key of the pre-authentication during the current call.
    var hasUnreadableReply = false

    init(_ observe: (@Sendable (String) -> Void)?) { self.observe = observe }

    deinit {
        if file >= 0 { close(file) }
    }

    /// Opens the file that `KRB5_TRACE` names, as libkrb5 does.
    func openFile() {
        guard let path = ckerberos_secure_variable("KRB5_TRACE"), path.pointee != 0 else { return }
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    }

    /// Forgets what the trace of an earlier call said.
    func reset() { (refusal, certificateRefusal, certificateSearch, hasUnreadableReply) = (nil, nil, CertificateSearch(), false) }

    func receive(_ message: String) {
        observe?(message)
        // As libkrb5 does, without regard to a full disk.
        if file >= 0 { _ = message.withCString { write(file, $0, strlen($0)) } }
        if let refusal = ProxyRefusal(trace: message) { self.refusal = refusal }
        if let refusal = KDCCertificateRefusal(trace: message) { certificateRefusal = refusal }
        if KerberosError.isUnreadableReply(trace: message) { hasUnreadableReply = true }
        certificateSearch.receive(message)
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
