internal import HTTPNegotiate
internal import Synchronization

/// The security contexts that wait for a server's token, each bound to the user that started it.
///
/// The table is bounded: if a user has too many, the user's oldest ones are removed. Each expires after two minutes, which is longer than
/// any server needs.
final class ExchangeTable: Sendable {
    fileprivate struct Entry {
        let exchange: any AuthorizationExchange
        let user: UInt32
        /// The principal that the context authenticates.
        let principal: String
        /// The entry's place in the user's queue. An older place of the same exchange is stale.
        let serial: Int
        let expires: ContinuousClock.Instant
    }

    fileprivate struct State {
        var entries: [String: Entry] = [:]
        /// The number of entries per user.
        var counts: [UInt32: Int] = [:]
        /// Each user's places, oldest first. Places of removed entries are skipped when they come first.
        var order: [UInt32: Deque] = [:]
        var lastSerial = 0

        mutating func insert(
            _ exchange: any AuthorizationExchange,
            principal: String,
            id: String,
            user: UInt32,
            expires: ContinuousClock.Instant
        ) {
            lastSerial += 1
            entries[id] = Entry(exchange: exchange, user: user, principal: principal, serial: lastSerial, expires: expires)
            counts[user, default: 0] += 1
            order[user, default: Deque()].append((id, lastSerial))
        }

        mutating func remove(_ id: String) -> Entry? {
            guard let entry = entries.removeValue(forKey: id) else { return nil }
            counts[entry.user, default: 0] -= 1
            return entry
        }
    }

    /// A queue that frees the memory of removed elements.
    fileprivate struct Deque {
        typealias Place = (id: String, serial: Int)
        private var places: [Place] = []
        private var start = 0

        var count: Int { places.count - start }
        var first: Place? { start < places.count ? places[start] : nil }

        mutating func append(_ place: Place) { places.append(place) }

        /// Removes the places that do not satisfy the predicate.
        mutating func keep(where isKept: (Place) -> Bool) {
            places = places[start...].filter(isKept)
            start = 0
        }

        mutating func removeFirst() {
            start += 1
            guard start > 256, start * 2 > places.count else { return }
            places.removeFirst(start)
            start = 0
        }
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The maximum number of exchanges per user.
    static let limit = 1024
    /// How long an exchange waits for a server's token.
    static let lifetime = Duration.seconds(120)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    /// The number of exchanges in the table.
    var count: Int { state.withLock { $0.entries.count } }

    /// Adds an exchange and returns its ID, which cannot be guessed.
    func insert(_ exchange: any AuthorizationExchange, principal: String, user: UInt32) -> String {
        let id = Self.makeID()
        putBack(exchange, principal: principal, id: id, user: user)
        return id
    }

    /// Puts back an exchange that continues.
    func putBack(_ exchange: any AuthorizationExchange, principal: String, id: String, user: UInt32) {
        let now = now()
        let dropped: [Entry] = state.withLock { state in
            state.insert(exchange, principal: principal, id: id, user: user, expires: now + Self.lifetime)
            return state.makeRoom(for: user, now: now)
        }
        // Releasing the entries here frees their security contexts outside the lock, so that no other caller waits for that.
        withExtendedLifetime(dropped) {}
    }

    /// Removes and returns an exchange, so that it cannot process two tokens at once; nil if it is another user's, has expired or never
    /// existed.
    func take(_ id: String, user: UInt32) -> (exchange: any AuthorizationExchange, principal: String)? {
        let now = now()
        return state.withLock { state in
            guard state.entries[id]?.user == user, let entry = state.remove(id) else { return nil }
            return entry.expires > now ? (entry.exchange, entry.principal) : nil
        }
    }

    /// Removes the exchanges that have expired, and those of principals that have signed out, because each contains a session key.
    ///
    /// - Parameter principals: The principals that are signed in; nil if that is not known.
    func removeStale(signedIn principals: Set<String>?) {
        let now = now()
        let dropped: [Entry] = state.withLock { state in
            let stale = state.entries.filter { $1.expires <= now || principals?.contains($1.principal) == false }
            return stale.keys.compactMap { state.remove($0) }
        }
        withExtendedLifetime(dropped) {}
    }

    /// Removes all exchanges.
    func removeAll() { state.withLock { $0 = State() } }

    /// Returns 128 random bits of the system's generator.
    private static func makeID() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 36) + "-" + String(generator.next(), radix: 36)
    }
}

extension ExchangeTable.State {
    /// Removes expired and excess entries, and the places of removed ones. Returns the removed entries.
    fileprivate mutating func makeRoom(for user: UInt32, now: ContinuousClock.Instant) -> [ExchangeTable.Entry] {
        var dropped: [ExchangeTable.Entry] = []
        while let oldest = order[user]?.first {
            if let entry = entries[oldest.id], entry.serial == oldest.serial {
                guard entry.expires <= now || counts[user] ?? 0 > ExchangeTable.limit else { break }
                if let entry = remove(oldest.id) { dropped.append(entry) }
            }
            order[user]?.removeFirst()
        }
        // An entry that waits for long can precede the places of many removed entries.
        if let places = order[user]?.count, places > 2 * ExchangeTable.limit {
            order[user]?.keep { [entries] in entries[$0.id]?.serial == $0.serial }
        }
        return dropped
    }
}
