internal import CKerberos
internal import Synchronization

/// How far the KDC's clock is from this machine's, in whole seconds, as the last context of a realm learned it.
///
/// libkrb5 keeps it in the context, and a context may be lost to a dead KDC: the next one must not fall back to this machine's clock.
final class ClockOffset: Sendable {
    private let seconds = Atomic<Int32>(0)

    /// Keeps what the context has learned.
    func learn(from context: Context) {
        var offset: krb5_timestamp = 0
        var microseconds: krb5_int32 = 0
        guard krb5_get_time_offsets(context.raw, &offset, &microseconds) == 0, offset != 0 else { return }
        seconds.store(offset, ordering: .relaxed)
    }

    /// Sets the clock of a context that has learned nothing yet.
    func apply(to context: Context) {
        let offset = seconds.load(ordering: .relaxed)
        var now: krb5_timestamp = 0
        var microseconds: krb5_int32 = 0
        guard offset != 0, krb5_us_timeofday(context.raw, &now, &microseconds) == 0 else { return }
        krb5_set_real_time(context.raw, now &+ offset, microseconds)
    }
}

extension Context {
    /// By how many seconds the KDC's clock is ahead, as far as the context knows; 0 where it does not.
    var clockOffset: Int32 {
        var offset: krb5_timestamp = 0
        var microseconds: krb5_int32 = 0
        return krb5_get_time_offsets(raw, &offset, &microseconds) == 0 ? offset : 0
    }

    /// Goes by a KDC's clock, whatever it went by before.
    private func setClock(offset: Int32) {
        var now: krb5_timestamp = 0
        var microseconds: krb5_int32 = 0
        guard krb5_use_natural_time(raw) == 0, offset != 0, krb5_us_timeofday(raw, &now, &microseconds) == 0 else { return }
        krb5_set_real_time(raw, now &+ offset, microseconds)
    }

    /// What a cache holds, with its KDC's clock. The context goes on by the clock that it went by.
    func contentsAndClock(of name: CredentialCacheName) throws(KerberosError) -> CredentialCacheContents {
        let own = clockOffset
        defer { setClock(offset: own) }
        return try withCacheAndClock(name) { cache throws(KerberosError) in
            var contents = try contents(of: cache)
            contents.clockOffset = Double(clockOffset)
            return contents
        }
    }

    /// Lets a cache that is filled meanwhile have a KDC's clock; nil leaves it the context's own.
    func withClock(offset: Double?, _ body: () throws(KerberosError) -> Void) throws(KerberosError) {
        guard let offset else { return try body() }
        let own = clockOffset
        defer { setClock(offset: own) }
        setClock(offset: Int32(clamping: Int(offset)))
        try body()
    }

    /// Opens a cache by name for the length of the call, and goes by the KDC's clock as that cache has it: libkrb5 keeps the first offset
    /// that it met, which need no longer be true when the user has signed in again.
    func withCacheAndClock<Value>(
        _ name: CredentialCacheName,
        _ body: (krb5_ccache) throws(KerberosError) -> Value
    ) throws(KerberosError) -> Value {
        _ = krb5_use_natural_time(raw)
        return try withCache(name) { cache throws(KerberosError) in
            // Opening alone does not do it. Of a file libkrb5 takes the offset over when the principal is read, of a KCM cache when its
            // tickets begin to be listed.
            _ = try principal(of: cache)
            var cursor: krb5_cc_cursor?
            try check(krb5_cc_start_seq_get(raw, cache, &cursor), .readCache, subject: name.rawValue)
            krb5_cc_end_seq_get(raw, cache, &cursor)
            return try body(cache)
        }
    }
}
