internal import CKerberos
internal import Synchronization

internal import class Foundation.ProcessInfo

/// The handles behind an ``InitiatorCredential``, each over a MEMORY cache of its own with the same tickets: one at first, and one more
/// whenever threads meet.
///
/// While a token is made libgssapi holds the credential's lock and, now and then, libkrb5 the cache's: threads that shared one handle
/// would wait for each other.
final class InitiatorHandles: Sendable {
    private struct Handle: Sendable {
        let cache: MemoryCache
        let credential: GSSCredentialHandle

        init(_ cache: MemoryCache, subject: String) throws(KerberosError) {
            self.cache = cache
            // With KRB5_CLIENT_KTNAME set GSSAPI would go to the KDC by itself for a ticket that ends soon, from whatever thread: it gets
            // none.
            let store = [("ccache", cache.name.rawValue), ("client_keytab", "MEMORY:none")]
            credential = try GSSCredentialHandle(usage: GSS_C_INITIATE, store: store, subject: subject)
        }
    }

    private struct State {
        var all: [Handle]
        /// Those that no thread uses now.
        var idle: [Handle]
        /// How many more may be made.
        var reserve: Int
    }

    private let first: Handle
    private let subject: String
    private let state: Mutex<State>

    /// As many as threads can run at once, within reason.
    static var usualLimit: Int { min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 8) }

    init(holding tickets: [Credential], subject: String, limit: Int, context: Context) throws(KerberosError) {
        // Made by the realm's own context: that is how the KDC's clock offset reaches GSSAPI.
        first = try Handle(try MemoryCache(holding: tickets, context: context), subject: subject)
        self.subject = subject
        state = Mutex(State(all: [first], idle: [first], reserve: limit - 1))
    }

    /// How many there are.
    var count: Int { state.withLock { $0.all.count } }

    /// Lends a handle that no other thread uses, if there is one or can be; else one that is waited for.
    func withHandle<Value>(_ body: (gss_cred_id_t) -> Value) -> Value {
        guard let own = idleHandle() ?? newHandle() else {
            return body((state.withLock { $0.all.randomElement() } ?? first).credential.raw)
        }
        defer { state.withLock { $0.idle.append(own) } }
        return body(own.credential.raw)
    }

    private func idleHandle() -> Handle? {
        state.withLock { $0.idle.popLast() }
    }

    /// One more, made outside the lock. Where that fails, those that are there must do.
    private func newHandle() -> Handle? {
        let isAllowed = state.withLock { state in
            guard state.reserve > 0 else { return false }
            state.reserve -= 1
            return true
        }
        guard isAllowed, let cache = try? MemoryCache(copying: first.cache), let handle = try? Handle(cache, subject: subject) else {
            return nil
        }
        state.withLock { $0.all.append(handle) }
        return handle
    }
}
