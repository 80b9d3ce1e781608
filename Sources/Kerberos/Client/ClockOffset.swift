internal import CKerberos
internal import Synchronization

/// A realm's KDC clock offset from this machine's clock, in whole seconds, as its last context learned it.
///
/// libkrb5 keeps the offset in the context. A context that waits for an unreachable KDC is discarded, and the next one needs the offset.
final class ClockOffset: Sendable {
    private let seconds: Atomic<Int32>

    /// Creates the offset for a client that has not learned one.
    init(_ offset: Duration) {
        seconds = Atomic(Int32(clamping: offset.components.seconds))
    }

    /// Stores the context's offset if it has changed. A context that learned nothing, such as an abandoned one, overwrites nothing.
    func learn(from context: Context, since before: Int32) {
        let offset = context.clockOffset
        if offset != before { seconds.store(offset, ordering: .relaxed) }
    }

    /// Stores the offset that a cache contains, for the calls that use its tickets next.
    func learn(_ clock: Context.Offset) { seconds.store(clock.seconds, ordering: .relaxed) }

    /// The offset in seconds; the initial value if no context has learned one.
    var learned: Double { Double(seconds.load(ordering: .relaxed)) }

    /// Sets the clock offset of a context.
    func apply(to context: Context) { context.setClock((seconds.load(ordering: .relaxed), 0)) }
}

extension Context {
    typealias Offset = (seconds: krb5_timestamp, microseconds: krb5_int32)

    /// How many seconds the KDC's clock is ahead, as far as the context knows; 0 if unknown.
    var clockOffset: Int32 { offset.seconds }

    /// libkrb5 returns the number even if it is not valid; ``forgetClock()`` sets an invalid one to 0.
    var offset: Offset {
        var offset: Offset = (0, 0)
        return krb5_get_time_offsets(raw, &offset.seconds, &offset.microseconds) == 0 ? offset : (0, 0)
    }

    /// Sets the offset to a KDC's clock. An offset of 0 is valid too: a cache that is filled afterwards records 0.
    func setClock(_ offset: Offset) {
        krb5_set_time_offsets(raw, offset.seconds, offset.microseconds)
    }

    /// Makes the context adopt the offset of the cache that is read next; a cache without one, such as a file without the tag, leaves 0.
    private func forgetClock() {
        krb5_set_time_offsets(raw, 0, 0)
        krb5_use_natural_time(raw)
    }

    /// A cache's contents with its KDC clock offset. The context's own offset is restored.
    func contentsAndClock(of name: CredentialCacheName) throws(KerberosError) -> CredentialCacheContents {
        try withClock(of: name) { cache throws(KerberosError) in
            var contents = try contents(of: cache)
            contents.clockOffset = Double(clockOffset)
            return contents
        }
    }

    /// A cache's listing with its KDC clock offset. The context's own offset is restored.
    func listingAndClock(of name: CredentialCacheName) throws(KerberosError) -> CredentialCacheListing {
        try withClock(of: name) { cache throws(KerberosError) in
            var listing = try listing(of: cache)
            listing.clockOffset = Double(clockOffset)
            return listing
        }
    }

    /// Opens a cache and uses its KDC clock offset for the duration of the call.
    private func withClock<Value>(
        of name: CredentialCacheName,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        let own = offset
        defer { setClock(own) }
        return try withCacheAndClock(name, body)
    }

    /// Sets a KDC clock offset for the duration of the call, so that caches filled in it record the offset; nil keeps the context's own.
    func withClock(offset seconds: Double?, _ body: () throws(KerberosError) -> Void) throws(KerberosError) {
        let own = offset
        defer { setClock(own) }
        setClock(seconds.map { (Int32(clamping: Int($0)), 0) } ?? own)
        try body()
    }

    /// Opens a cache by name for the duration of the call, and adopts the KDC clock offset in that cache. libkrb5 keeps the first offset
    /// that it reads, which may be out of date after a new sign-in. If the cache cannot be read, the offset stays as it was.
    func withCacheAndClock<Value>(
        _ name: CredentialCacheName,
        isArmor: Bool = false,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        let own = offset
        var isRead = false
        forgetClock()
        defer { if !isRead { setClock(own) } }
        return try withCache(name, isArmor: isArmor) { cache throws(KerberosError) in
            // Opening the cache is not enough: libkrb5 adopts the offset of a file when it reads the principal, and that of a KCM cache
            // when it starts to list the tickets.
            _ = try principal(of: cache)
            var cursor: krb5_cc_cursor?
            try check(krb5_cc_start_seq_get(raw, cache, &cursor), .readCache, subject: name.rawValue)
            krb5_cc_end_seq_get(raw, cache, &cursor)
            isRead = true
            return try body(cache)
        }
    }
}
