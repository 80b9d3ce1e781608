internal import CKerberos
internal import Synchronization

internal import class Foundation.ProcessInfo

/// The handles behind an ``InitiatorCredential``, each over a MEMORY cache of its own with the same tickets.
///
/// While a token is made libgssapi holds the credential's lock and, now and then, libkrb5 the cache's: threads that shared one handle
/// would wait for each other.
final class InitiatorHandles: Sendable {
    private struct Handle: Sendable {
        let cache: MemoryCache
        let credential: GSSCredentialHandle
    }

    private let handles: [Handle]
    /// The positions of those that no thread uses now.
    private let idle: Mutex<[Int]>

    /// As many as threads can run at once, within reason.
    static var usualCount: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8) }

    init(holding tickets: [Credential], subject: String, count: Int, context: Context) throws(KerberosError) {
        var handles: [Handle] = []
        for _ in 0..<count {
            // Made by the realm's own context: that is how the KDC's clock offset reaches GSSAPI.
            let cache = try MemoryCache(holding: tickets, context: context)
            // With KRB5_CLIENT_KTNAME set GSSAPI would go to the KDC by itself for a ticket that ends soon, from whatever thread: it gets
            // none.
            let store = [("ccache", cache.name.rawValue), ("client_keytab", "MEMORY:none")]
            let credential = try GSSCredentialHandle(usage: GSS_C_INITIATE, store: store, subject: subject)
            handles.append(Handle(cache: cache, credential: credential))
        }
        self.handles = handles
        idle = Mutex(Array(handles.indices))
    }

    /// Lends a handle, if there is one that no other thread uses; else one that is waited for.
    func withHandle<Value>(_ body: (gss_cred_id_t) -> Value) -> Value {
        let free = idle.withLock { $0.popLast() }
        defer {
            if let free { idle.withLock { $0.append(free) } }
        }
        return body(handles[free ?? .random(in: handles.indices)].credential.raw)
    }
}
