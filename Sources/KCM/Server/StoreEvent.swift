/// A completed change of a user's caches.
package struct StoreEvent: Hashable, Sendable {
    /// What changed.
    package enum Kind: Hashable, Sendable {
        /// A ticket or configuration entry was added, or replaced an older one.
        case stored
        /// Tickets were removed, by a client or because they had expired.
        case removed
        /// The cache was created or emptied, or its contents were replaced.
        case initialized
        /// The cache was destroyed. A move is reported as destroyed under the old name and initialized under the new one.
        case destroyed
        /// The cache is now the user's default, whether it exists or not.
        case primaryChanged
    }

    /// The user who owns the cache.
    package let user: UInt32
    /// What changed.
    package let kind: Kind
    /// The name of the cache.
    package let cache: CacheName

    package init(user: UInt32, kind: Kind, cache: CacheName) {
        self.user = user
        self.kind = kind
        self.cache = cache
    }
}

extension StoreChange {
    /// Returns the events of this change; none for a clock offset.
    func events(of user: UInt32) -> [StoreEvent] {
        switch self {
        case .initialize(let name, _), .replace(let name, _): [StoreEvent(user: user, kind: .initialized, cache: name)]
        case .store(let name, _, _): [StoreEvent(user: user, kind: .stored, cache: name)]
        case .remove(let name, _): [StoreEvent(user: user, kind: .removed, cache: name)]
        case .destroy(let name): [StoreEvent(user: user, kind: .destroyed, cache: name)]
        case .move(let name, let target) where name == target: []
        case .move(let name, let target):
            [StoreEvent(user: user, kind: .destroyed, cache: name), StoreEvent(user: user, kind: .initialized, cache: target)]
        case .setPrimary(let name): [StoreEvent(user: user, kind: .primaryChanged, cache: name)]
        case .setClockOffset: []
        }
    }
}
