extension CredentialStore {
    /// Returns the expired tickets of caches that also have valid ones; the server removes them when it starts.
    ///
    /// A cache whose tickets have all expired stays unchanged: they show its principal, its age, and what can be reacquired.
    func expiredAmongValid(now: UInt32) -> [StoreChange] {
        caches.compactMap { cache in
            let expired = cache.expired(now: now)
            let tickets = cache.list.all.count { !$0.credential.server.isConfiguration }
            return expired.isEmpty || expired.count == tickets ? nil : .remove(cache.name, expired)
        }
    }

    /// Returns the caches whose tickets could not be used or renewed for `period` seconds.
    ///
    /// - Parameter keepsPrimary: Whether the primary cache stays, however old it is.
    func abandoned(now: UInt32, after period: Int64, keepsPrimary: Bool) -> [AbandonedCache] {
        caches.compactMap { cache in
            guard !(keepsPrimary && cache.name == primary), let end = cache.endOfLife, end + period < Int64(now) else { return nil }
            return AbandonedCache(user: user, cache: cache, endOfLife: end, madeRoom: false)
        }
    }
}

/// A cache that was removed because its tickets had expired.
package struct AbandonedCache: Sendable {
    /// The user who owns the cache.
    package let user: UInt32
    /// The cache and its contents.
    package let cache: CredentialCache
    /// The time, in seconds since 1970, since which none of its tickets can be used or renewed.
    package let endOfLife: Int64
    /// Whether it was removed because its user had reached the limit of caches.
    package let madeRoom: Bool
}

/// How long a server keeps unusable caches.
package struct CacheRetention: Sendable {
    /// The time after which a cache is removed, counted from the end of its last ticket, including renewals; nil keeps every cache.
    package var period: Duration?
    /// Whether a user's primary cache stays, however old it is, because the user has a session. Called on the server's thread: it must not
    /// block.
    package var keepsPrimary: @Sendable (UInt32) -> Bool
    /// Whether a cache stays because its tickets will be reacquired.
    package var isExempt: @Sendable (CredentialCache) -> Bool
    /// Receives each removed cache. Called on the server's thread.
    package var removed: (@Sendable (AbandonedCache) -> Void)?
    /// How often the server looks for caches to remove.
    var interval = Duration.seconds(600)

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
    /// Returns the removals that make room for a cache with contents of this cost; nil if there is not enough room.
    func room(replacing name: CacheName, cost: Int, now: UInt32) -> [StoreChange]? {
        let old = cache(name)
        let added = cost - (old?.cost ?? 0)
        guard old == nil, caches.count >= limits.caches else { return room(for: added, now: now) { cache, _ in cache == name } }
        guard let useless = firstExpired(now: now) else { return nil }
        return room(for: added - useless.cost, now: now) { cache, _ in cache == useless.name }.map { [.destroy(useless.name)] + $0 }
    }

    /// Returns the removals that make room for `added` more bytes; nil if there is not enough room.
    ///
    /// - Parameter isCounted: Whether `added` already takes the removal of this credential into account.
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

    /// The oldest non-primary cache whose tickets have all expired. Such caches accumulate when sessions end without a sign-out.
    private func firstExpired(now: UInt32) -> CredentialCache? {
        caches.first { cache in
            guard cache.name != primary, !isExempt(cache) else { return false }
            let tickets = cache.list.all.filter { !$0.credential.server.isConfiguration }
            return !tickets.isEmpty && tickets.count == cache.expired(now: now).count
        }
    }
}
