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

    /// Lets a context take the clock offset of the cache that it opens next: libkrb5 keeps the first that it met, which need no longer be
    /// true when the user has signed in again.
    static func forget(in context: Context) { _ = krb5_use_natural_time(context.raw) }

    /// Sets the clock of a context that has learned nothing yet.
    func apply(to context: Context) {
        let offset = seconds.load(ordering: .relaxed)
        var now: krb5_timestamp = 0
        var microseconds: krb5_int32 = 0
        guard offset != 0, krb5_us_timeofday(context.raw, &now, &microseconds) == 0 else { return }
        krb5_set_real_time(context.raw, now &+ offset, microseconds)
    }
}
