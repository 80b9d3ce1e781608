internal import CKerberos
internal import Synchronization

/// How far the KDC's clock is from this machine's, in whole seconds, as the last context of a realm learned it.
///
/// libkrb5 keeps it in the context, and a context may be lost to a dead KDC: the next one must not fall back to this machine's clock.
final class ClockOffset: Sendable {
    private let seconds: Atomic<Int32>

    /// What a client begins with that has learned nothing.
    init(_ offset: Duration) {
        seconds = Atomic(Int32(clamping: offset.components.seconds))
    }

    /// Keeps what the context has learned since it had an offset. One that has learned nothing, for it was given up, overwrites nothing.
    func learn(from context: Context, since before: Int32) {
        let offset = context.clockOffset
        if offset != before { seconds.store(offset, ordering: .relaxed) }
    }

    /// In seconds; what the client began with, where no context has learned one.
    var learned: Double { Double(seconds.load(ordering: .relaxed)) }

    /// Sets the clock of a context that has learned nothing yet.
    func apply(to context: Context) { context.setClock((seconds.load(ordering: .relaxed), 0)) }
}

extension Context {
    typealias Offset = (seconds: krb5_timestamp, microseconds: krb5_int32)

    /// By how many seconds the KDC's clock is ahead, as far as the context knows; 0 where it does not.
    var clockOffset: Int32 { offset.seconds }

    /// libkrb5 gives the number out whether or not it is valid: ``forgetClock()`` sees to it that one that is not is 0.
    var offset: Offset {
        var offset: Offset = (0, 0)
        return krb5_get_time_offsets(raw, &offset.seconds, &offset.microseconds) == 0 ? offset : (0, 0)
    }

    /// Goes by a KDC's clock, whatever it went by before. An offset of 0 is valid too: a cache that is filled then says that it is 0.
    func setClock(_ offset: Offset) {
        krb5_set_time_offsets(raw, offset.seconds, offset.microseconds)
    }

    /// Takes over the offset of the cache that is read next; a cache that has none, such as a file without the tag, leaves it at 0.
    private func forgetClock() {
        krb5_set_time_offsets(raw, 0, 0)
        krb5_use_natural_time(raw)
    }

    /// What a cache holds, with its KDC's clock. The context goes on by the clock that it went by.
    func contentsAndClock(of name: CredentialCacheName) throws(KerberosError) -> CredentialCacheContents {
        try withClock(of: name) { cache throws(KerberosError) in
            var contents = try contents(of: cache)
            contents.clockOffset = Double(clockOffset)
            return contents
        }
    }

    /// The same without the service tickets themselves.
    func listingAndClock(of name: CredentialCacheName) throws(KerberosError) -> CredentialCacheListing {
        try withClock(of: name) { cache throws(KerberosError) in
            var listing = try listing(of: cache)
            listing.clockOffset = Double(clockOffset)
            return listing
        }
    }

    /// Opens a cache and goes by its KDC's clock for the length of the call only.
    private func withClock<Value>(
        of name: CredentialCacheName,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        let own = offset
        defer { setClock(own) }
        return try withCacheAndClock(name, body)
    }

    /// Lets a cache that is filled meanwhile have a KDC's clock; nil is the context's own.
    func withClock(offset seconds: Double?, _ body: () throws(KerberosError) -> Void) throws(KerberosError) {
        let own = offset
        defer { setClock(own) }
        setClock(seconds.map { (Int32(clamping: Int($0)), 0) } ?? own)
        try body()
    }

    /// Opens a cache by name for the length of the call, and goes by the KDC's clock as that cache has it: libkrb5 keeps the first offset
    /// that it met, which need no longer be true when the user has signed in again. A cache that can't be read leaves the clock as it was.
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
            // Opening alone does not do it. Of a file libkrb5 takes the offset over when the principal is read, of a KCM cache when its
            // tickets begin to be listed.
            _ = try principal(of: cache)
            var cursor: krb5_cc_cursor?
            try check(krb5_cc_start_seq_get(raw, cache, &cursor), .readCache, subject: name.rawValue)
            krb5_cc_end_seq_get(raw, cache, &cursor)
            isRead = true
            return try body(cache)
        }
    }
}
