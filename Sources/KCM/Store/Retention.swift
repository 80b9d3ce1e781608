extension CredentialStore {
    /// The expired tickets of caches that have others, which a start of the server removes.
    ///
    /// A cache whose tickets have all expired stays as it is: its tickets say whose it is, how old it is, and what can be acquired again.
    func expiredBesideOthers(now: UInt32) -> [StoreChange] {
        caches.compactMap { cache in
            let expired = cache.expired(now: now)
            let tickets = cache.list.all.count { !$0.credential.server.isConfiguration }
            return expired.isEmpty || expired.count == tickets ? nil : .remove(cache.name, expired)
        }
    }

    /// The caches of no use: none of whose tickets could be used or renewed for so many seconds.
    ///
    /// - Parameter keepsPrimary: Whether the primary cache stays, however old it is.
    func abandoned(now: UInt32, after period: Int64, keepsPrimary: Bool) -> [AbandonedCache] {
        caches.compactMap { cache in
            guard !(keepsPrimary && cache.name == primary), let end = cache.endOfLife, end + period < Int64(now) else { return nil }
            return AbandonedCache(user: user, cache: cache, endOfLife: end, madeRoom: false)
        }
    }
}

/// A cache that is removed because its tickets have been of no use for long.
package struct AbandonedCache: Sendable {
    /// The user whose cache it is.
    package let user: UInt32
    /// What is in it.
    package let cache: CredentialCache
    /// Since when none of its tickets can be used or renewed, in seconds since 1970.
    package let endOfLife: Int64
    /// Whether it was removed because its user has as many caches as are permitted, and its tickets had expired.
    package let madeRoom: Bool
}

/// How long a server keeps caches whose tickets are of no use.
package struct CacheRetention: Sendable {
    /// How long after the end of its last ticket's life, renewals included, a cache is removed; nil keeps every cache.
    package var period: Duration?
    /// Whether a user's primary cache stays, however old it is: while the user has a session. Called on the server's thread: it must not
    /// wait.
    package var keepsPrimary: @Sendable (UInt32) -> Bool
    /// Whether a cache stays because its tickets will be acquired again.
    package var isExempt: @Sendable (CredentialCache) -> Bool
    /// Hears of each cache that was removed, on the server's thread.
    package var removed: (@Sendable (AbandonedCache) -> Void)?

    package init(
        period: Duration? = .seconds(7 * 86_400),
        keepsPrimary: @escaping @Sendable (UInt32) -> Bool = { _ in true },
        isExempt: @escaping @Sendable (CredentialCache) -> Bool = { _ in false },
        removed: (@Sendable (AbandonedCache) -> Void)? = nil
    ) {
        self.period = period
        self.keepsPrimary = keepsPrimary
        self.isExempt = isExempt
        self.removed = removed
    }
}

extension CredentialStore {
    /// What a purge of expired tickets removes; caches stay, and so do tickets that have not expired.
    package func purge(now: UInt32) -> [StoreChange] { purge(now: now) { _, _ in false }.changes }

    /// What must go so that a cache can have a content of this cost; nil where there is no room.
    func room(replacing name: CacheName, cost: Int, now: UInt32) -> [StoreChange]? {
        let old = cache(name)
        let added = cost - (old?.cost ?? 0)
        guard old == nil, caches.count >= limits.caches else { return room(for: added, now: now) { cache, _ in cache == name } }
        guard let useless = firstExpired(now: now) else { return nil }
        return room(for: added - useless.cost, now: now) { cache, _ in cache == useless.name }.map { [.destroy(useless.name)] + $0 }
    }

    /// What must go so that so much can be added; nil where there is no room.
    ///
    /// - Parameter isCounted: Tells a credential whose going is part of `added` already.
    func room(for added: Int, now: UInt32, isCounted: (CacheName, UInt64) -> Bool) -> [StoreChange]? {
        let missing = cost + added - limits.bytes
        guard missing > 0, added > 0 else { return [] }
        let purge = purge(now: now, isCounted: isCounted)
        return purge.cost >= missing ? purge.changes : nil
    }

    private func purge(now: UInt32, isCounted: (CacheName, UInt64) -> Bool) -> (changes: [StoreChange], cost: Int) {
        var changes: [StoreChange] = []
        var cost = 0
        for cache in caches {
            let serials = cache.expired(now: now).filter { !isCounted(cache.name, $0) }
            guard !serials.isEmpty else { continue }
            changes.append(.remove(cache.name, serials))
            cost += serials.reduce(0) { $0 + CredentialCache.costOfCredential + (cache.list[$1]?.bytes.count ?? 0) }
        }
        return (changes, cost)
    }

    /// The oldest cache whose tickets have all expired and which is not the primary one: they pile up when sessions end without a sign-out.
    private func firstExpired(now: UInt32) -> CredentialCache? {
        caches.first { cache in
            guard cache.name != primary, !isExempt(cache) else { return false }
            let tickets = cache.list.all.filter { !$0.credential.server.isConfiguration }
            return !tickets.isEmpty && tickets.count == cache.expired(now: now).count
        }
    }
}
