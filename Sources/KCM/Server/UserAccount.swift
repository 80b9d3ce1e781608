/// One user's caches. On the server's event loop alone.
final class UserAccount {
    private(set) var store: CredentialStore
    /// Nil where the caches are kept in memory alone.
    private let storage: UserStorage?
    private let options: KCMServer.Options
    private let use: ServerUse
    /// What it takes, as it is counted for all users.
    private var counted = (files: 0, bytes: 0)

    /// Takes up what is kept of a user, and drops what has expired.
    init(user: UInt32, storage: UserStorage?, options: KCMServer.Options, use: ServerUse) throws(StorageError) {
        self.storage = storage
        self.options = options
        self.use = use
        guard let storage else {
            store = CredentialStore(user: user, limits: options.storeLimits)
            count()
            return
        }
        store = try storage.recover(user: user, limits: options.storeLimits)
        let expired = store.purge(now: options.now())
        for change in expired { store.apply(change) }
        for case .remove(let name, _) in expired { store.cache(name).map(storage.rewrite) }
        count()
    }

    /// Whether nothing is lost with it.
    var isUnused: Bool { store.caches.isEmpty && store.primary == .initialPrimary(user: store.user) }

    /// Takes it out of what is counted for all users.
    func leave() { count(files: 0, bytes: 0) }

    private func count() { count(files: 1 + store.caches.count, bytes: ServerUse.costOfUser + store.cost) }

    private func count(files: Int, bytes: Int) {
        use.files += files - counted.files
        use.storedBytes += bytes - counted.bytes
        counted = (files, bytes)
    }

    /// Carries out a request: decides, writes, applies, tells the observer. Nil where the connection is to be closed.
    func reply(to frame: [UInt8], connection: inout ConnectionState) -> Reply? {
        do {
            let request = try Request(frame)
            var state = connection
            store.limits = use.limits(within: options.storeLimits, caches: store.caches.count, bytes: store.cost)
            let decision = store.decide(request, connection: &state, now: options.now())
            guard make(decision.changes) else { return Reply(code: .writeFailed) }
            connection = state
            return decision.reply
        } catch {
            return error.replyCode.map(Reply.init(code:))
        }
    }

    /// Makes changes: on disk first, so that the store has nothing that a restart would forget.
    private func make(_ changes: [StoreChange]) -> Bool {
        guard !changes.isEmpty else { return true }
        do {
            try storage?.write(changes, to: store)
        } catch {
            options.writeFailure?(error)
            return false
        }
        storage?.wipeSecrets(of: changes, in: store)
        for change in changes { store.apply(change) }
        count()
        compact(after: changes)
        tell(of: changes)
        return true
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

    private func tell(of changes: [StoreChange]) {
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
