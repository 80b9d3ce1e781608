/// The caches of one user. Used only on the server's event loop.
final class UserAccount {
    private(set) var store: CredentialStore
    /// The files of the caches; nil if the caches are stored only in memory.
    private let storage: UserStorage?
    private let options: KCMServer.Options
    private let use: TotalUsage
    private let reports: ReportFilter
    /// The usage against which the account is counted.
    private(set) var usage: OwnerUsage
    /// The usage of this account, as last counted for all users and for its owner.
    private var counted = (accounts: 0, caches: 0, bytes: 0)

    /// Loads the stored caches of a user, and removes expired tickets.
    init(
        user: UInt32,
        storage: UserStorage?,
        options: KCMServer.Options,
        use: TotalUsage,
        usage: OwnerUsage,
        reports: ReportFilter
    ) throws(StorageError) {
        self.storage = storage
        self.options = options
        self.use = use
        self.usage = usage
        self.reports = reports
        guard let storage else {
            store = CredentialStore(user: user, limits: options.storeLimits)
            store.isExempt = options.retention.isExempt
            count()
            return
        }
        store = try storage.recover(user: user, limits: options.storeLimits)
        store.isExempt = options.retention.isExempt
        reports.report(storage.damagedEntries)
        reports.report(storage.truncatedFiles)
        let expired = store.expiredAmongValid(now: options.now())
        for change in expired { store.apply(change, now: options.now()) }
        for case .remove(let name, _) in expired { store.cache(name).map(storage.rewrite) }
        count()
    }

    /// Whether the account can be removed without losing anything.
    var isUnused: Bool { store.caches.isEmpty && store.primary == .initialPrimary(user: store.user) }

    /// Removes the account from the counts.
    func leave() { count(accounts: 0, caches: 0, bytes: 0) }

    /// Counts the account for another owner.
    func move(to other: OwnerUsage) {
        leave()
        usage = other
        count()
    }

    private func count() { count(accounts: 1, caches: store.caches.count, bytes: store.cost) }

    private func count(accounts: Int, caches: Int, bytes: Int) {
        let change = (accounts: accounts - counted.accounts, caches: caches - counted.caches, bytes: bytes - counted.bytes)
        use.files += change.accounts + change.caches
        use.storedBytes += change.accounts * TotalUsage.costOfUser + change.bytes
        usage.accounts += change.accounts
        usage.caches += change.caches
        usage.storedBytes += change.bytes
        counted = (accounts, caches, bytes)
    }

    /// Executes a request, or a part of it: decides, writes, applies, notifies the observer. Returns nil if the connection must be closed.
    ///
    /// If ``ConnectionState/isUnfinished`` is true afterwards, call this again with the same request to execute the next part.
    ///
    /// - Parameter replyLimit: The maximum length of a reply; a longer one is not built.
    func reply(to frame: [UInt8], connection: inout ConnectionState, replyLimit: Int = Reply.maximumBodyLength) -> Reply? {
        do {
            let request = try Request(frame)
            var state = connection
            // A part that fails is the last one.
            connection.removal = nil
            store.limits = use.limits(within: options.storeLimits, caches: store.caches.count, bytes: store.cost, of: usage)
            let decision = store.decide(request, connection: &state, now: options.now(), replyLimit: replyLimit)
            // A person has one limit and one report, however many subordinate numbers send requests.
            if decision.reply.code == .quotaExceeded, usage.caches >= options.storeLimits.caches {
                reports.noMoreCaches(user: usage.owner, limit: options.storeLimits.caches)
            }
            let displaced = displaced(by: decision.changes)
            guard make(decision.changes) else { return Reply(code: .writeFailed) }
            for cache in displaced { options.retention.removed?(cache) }
            connection = state
            return decision.reply
        } catch {
            return error.replyCode.map(Reply.init(code:))
        }
    }

    /// Whether the contents of a REPLACE request would fit the limits.
    func hasRoom(for outline: ReplacementOutline) -> Bool {
        store.limits = use.limits(within: options.storeLimits, caches: store.caches.count, bytes: store.cost, of: usage)
        return store.room(replacing: store.resolved(outline.name), cost: outline.cost, now: options.now()) != nil
    }

    /// Makes changes, first on disk, so that the store has nothing that a restart would lose.
    private func make(_ changes: [StoreChange]) -> Bool {
        guard !changes.isEmpty else { return true }
        do {
            try storage?.write(changes, to: store)
        } catch {
            reports.writeFailed(error)
            return false
        }
        reports.wrote()
        storage?.wipeSecrets(of: changes, in: store)
        for change in changes { store.apply(change, now: options.now()) }
        count()
        compact(after: changes)
        report(changes)
        return true
    }

    /// Returns the caches that are removed to make room. A request that destroys a cache makes no other change.
    private func displaced(by changes: [StoreChange]) -> [AbandonedCache] {
        guard changes.count > 1 else { return [] }
        return changes.compactMap { change in
            guard case .destroy(let name) = change, let cache = store.cache(name) else { return nil }
            return AbandonedCache(user: store.user, cache: cache, endOfLife: cache.endOfLife ?? 0, madeRoom: true)
        }
    }

    /// Removes the caches whose tickets have been unusable for longer than the retention period.
    func removeAbandonedCaches() {
        let retention = options.retention
        guard let period = retention.period?.components.seconds else { return }
        let keepsPrimary = retention.keepsPrimary(store.user)
        for abandoned in store.abandoned(now: options.now(), after: period, keepsPrimary: keepsPrimary)
        where !retention.isExempt(abandoned.cache) && make([.destroy(abandoned.cache.name)]) {
            retention.removed?(abandoned)
        }
    }

    private func compact(after changes: [StoreChange]) {
        guard let storage else { return }
        for change in changes {
            switch change {
            case .store(let name, _, _), .remove(let name, _): store.cache(name).map(storage.compactIfNeeded)
            case .initialize, .replace, .destroy, .move, .setPrimary, .setClockOffset: break
            }
        }
    }

    private func report(_ changes: [StoreChange]) {
        guard let observer = options.observer else { return }
        for change in changes {
            for event in change.events(of: store.user) { observer(event) }
        }
    }

    func counts(connections: Int) -> ServerCounts {
        ServerCounts(
            user: store.user,
            connections: connections,
            caches: store.caches.count,
            tickets: store.caches.reduce(0) { $0 + $1.credentials.count { !$0.server.isConfiguration } },
            bytes: store.cost
        )
    }
}
