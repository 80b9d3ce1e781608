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
