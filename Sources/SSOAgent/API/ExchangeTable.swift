internal import HTTPNegotiate
internal import Synchronization

/// The security contexts that wait for a server's token, each for the user that it was opened for.
///
/// Bounded: whoever never sends the server's token loses the oldest of his own first. Each ends after two minutes, longer than any
/// server needs.
final class ExchangeTable: Sendable {
    fileprivate struct Entry {
        let exchange: any AuthorizationExchange
        let user: UInt32
        /// Who answers with it.
        let principal: String
        /// Its place in the user's queue; an older place of the same exchange is stale.
        let serial: Int
        let expires: ContinuousClock.Instant
    }

    fileprivate struct State {
        var entries: [String: Entry] = [:]
        /// How many of the entries are a user's.
        var counts: [UInt32: Int] = [:]
        /// Each user's, the oldest first; those that ended are passed over when it is their turn.
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

    /// A queue that gives back the room of what was taken.
    fileprivate struct Deque {
        typealias Place = (id: String, serial: Int)
        private var places: [Place] = []
        private var start = 0

        var count: Int { places.count - start }
        var first: Place? { start < places.count ? places[start] : nil }

        mutating func append(_ place: Place) { places.append(place) }

        /// Takes out the places that a rule does not keep.
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

    /// The most that one user has.
    static let limit = 1024
    /// How long a server's token is waited for.
    static let lifetime = Duration.seconds(120)

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

    /// How many wait.
    var count: Int { state.withLock { $0.entries.count } }

    /// Keeps an exchange; gives the number that nobody guesses.
    func insert(_ exchange: any AuthorizationExchange, principal: String, user: UInt32) -> String {
        let id = Self.makeID()
        putBack(exchange, principal: principal, id: id, user: user)
        return id
    }

    /// Keeps an exchange that goes on.
    func putBack(_ exchange: any AuthorizationExchange, principal: String, id: String, user: UInt32) {
        let now = now()
        let dropped: [Entry] = state.withLock { state in
            state.insert(exchange, principal: principal, id: id, user: user, expires: now + Self.lifetime)
            return state.makeRoom(for: user, now: now)
        }
        // Each frees a security context, which nobody else has to wait for.
        withExtendedLifetime(dropped) {}
    }

    /// Takes an exchange out, so that no two tokens are fed to it at once; nil for one that is another's, has ended or never was.
    func take(_ id: String, user: UInt32) -> (exchange: any AuthorizationExchange, principal: String)? {
        let now = now()
        return state.withLock { state in
            guard state.entries[id]?.user == user, let entry = state.remove(id) else { return nil }
            return entry.expires > now ? (entry.exchange, entry.principal) : nil
        }
    }

    /// Ends those that have expired, and those of principals who are signed in no more: each holds a key.
    ///
    /// - Parameter principals: Who is signed in; nil where that is not known.
    func removeStale(signedIn principals: Set<String>?) {
        let now = now()
        let dropped: [Entry] = state.withLock { state in
            let stale = state.entries.filter { $1.expires <= now || principals?.contains($1.principal) == false }
            return stale.keys.compactMap { state.remove($0) }
        }
        withExtendedLifetime(dropped) {}
    }

    /// Ends all.
    func removeAll() { state.withLock { $0 = State() } }

    /// 128 bits of the system's generator.
    private static func makeID() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 36) + "-" + String(generator.next(), radix: 36)
    }
}

extension ExchangeTable.State {
    /// Takes out what has expired and what is too many, and the places of what was taken.
    fileprivate mutating func makeRoom(for user: UInt32, now: ContinuousClock.Instant) -> [ExchangeTable.Entry] {
        var dropped: [ExchangeTable.Entry] = []
        while let oldest = order[user]?.first {
            if let entry = entries[oldest.id], entry.serial == oldest.serial {
                guard entry.expires <= now || counts[user] ?? 0 > ExchangeTable.limit else { break }
                if let entry = remove(oldest.id) { dropped.append(entry) }
            }
            order[user]?.removeFirst()
        }
        // One that waits long stands before the places of many that have ended.
        if let places = order[user]?.count, places > 2 * ExchangeTable.limit {
            order[user]?.keep { [entries] in entries[$0.id]?.serial == $0.serial }
        }
        return dropped
    }
}
