internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// Keeps ticket-granting tickets that KDCs refuse from being replaced with every request: what another realm's KDC says costs this realm's
/// no more than one ticket in five minutes. A ticket's age alone does not tell where an attempt failed, or by a clock that is off.
final class RefusedTickets: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[CredentialCacheName: Date]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// Whether none was got for this cache within the pause.
    func mayBeReplaced(in cache: CredentialCacheName) -> Bool {
        let now = clock()
        return pauses.withLock { ($0[cache] ?? now) <= now }
    }

    /// Begins the pause, whatever came of the attempt.
    func wasReplaced(in cache: CredentialCacheName) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value > now }
            pauses[cache] = now.addingTimeInterval(KeyRefusals.longPause)
        }
    }
}
