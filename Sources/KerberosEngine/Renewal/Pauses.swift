internal import Synchronization

internal import struct Foundation.Date

/// The pauses after attempts, per key, so that an attempt that is unlikely to succeed is not repeated with every request.
///
/// Pauses that have ended are removed when another one begins.
final class Pauses<Key: Hashable & Sendable, Reason: Sendable>: Sendable {
    private let clock: @Sendable () -> Date
    private let pauses = Mutex<[Key: (reason: Reason, end: Date)]>([:])

    init(clock: @escaping @Sendable () -> Date) { self.clock = clock }

    /// The reason for the pause that a key has now; nil if it has none.
    func reason(for key: Key) -> Reason? {
        let now = clock()
        return pauses.withLock { $0[key].flatMap { $0.end > now ? $0.reason : nil } }
    }

    /// Begins a pause in place of the key's present one.
    func begin(_ key: Key, because reason: Reason, seconds: Double) {
        let now = clock()
        pauses.withLock { pauses in
            pauses = pauses.filter { $0.value.end > now }
            pauses[key] = (reason, now.addingTimeInterval(seconds))
        }
    }

    /// Ends a key's pause.
    func end(_ key: Key) { pauses.withLock { $0[key] = nil } }
}

extension Pauses where Reason == Void {
    func isPaused(_ key: Key) -> Bool { reason(for: key) != nil }
    func begin(_ key: Key, seconds: Double) { begin(key, because: (), seconds: seconds) }
}
