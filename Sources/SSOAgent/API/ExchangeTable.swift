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
        let expires: ContinuousClock.Instant
    }

    fileprivate struct State {
        var entries: [String: Entry] = [:]
        /// Each user's, the oldest first; those that ended are passed over when it is their turn.
        var order: [UInt32: Deque] = [:]
    }

    /// A queue that gives back the room of what was taken.
    fileprivate struct Deque {
        private var ids: [String] = []
        private var start = 0

        var count: Int { ids.count - start }
        var first: String? { start < ids.count ? ids[start] : nil }

        mutating func append(_ id: String) { ids.append(id) }

        mutating func removeFirst() {
            start += 1
            guard start > 256, start * 2 > ids.count else { return }
            ids.removeFirst(start)
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
            state.entries[id] = Entry(exchange: exchange, user: user, principal: principal, expires: now + Self.lifetime)
            state.order[user, default: Deque()].append(id)
            return state.makeRoom(for: user, now: now)
        }
        // Each frees a security context, which nobody else has to wait for.
        withExtendedLifetime(dropped) {}
    }

    /// Takes an exchange out, so that no two tokens are fed to it at once; nil for one that is another's, has ended or never was.
    func take(_ id: String, user: UInt32) -> (exchange: any AuthorizationExchange, principal: String)? {
        let now = now()
        return state.withLock { state in
            guard let entry = state.entries[id], entry.user == user else { return nil }
            state.entries[id] = nil
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
            for id in stale.keys { state.entries[id] = nil }
            return Array(stale.values)
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
            if let entry = entries[oldest] {
                guard entry.expires <= now || order[user]?.count ?? 0 > ExchangeTable.limit else { break }
                entries[oldest] = nil
                dropped.append(entry)
            }
            order[user]?.removeFirst()
        }
        return dropped
    }
}
