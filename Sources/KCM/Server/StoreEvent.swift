/// A change of a user's caches that was made.
package struct StoreEvent: Hashable, Sendable {
    /// What was done to a cache.
    package enum Kind: Hashable, Sendable {
        /// A ticket or a setting was added, or took the place of an older one.
        case stored
        /// Some tickets are gone: removed by a client, or expired.
        case removed
        /// The cache was created, emptied, or given another content as a whole.
        case initialized
        /// The cache is gone. One that was moved is destroyed under its old name and initialized under the new one.
        case destroyed
        /// The cache is the user's default now, whether it exists or not.
        case primaryChanged
    }

    /// The user whose cache it is.
    package let user: UInt32
    /// What was done.
    package let kind: Kind
    /// The cache.
    package let cache: CacheName

    package init(user: UInt32, kind: Kind, cache: CacheName) {
        self.user = user
        self.kind = kind
        self.cache = cache
    }
}

extension StoreChange {
    /// What an observer hears of it; nothing of a clock offset.
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
