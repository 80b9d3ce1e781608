/// The users who have caches or connections, and what they use. Used only on the server's event loop.
final class UserTable {
    private let options: KCMServer.Options
    private let storage: Storage?
    private var accounts: [UInt32: UserAccount] = [:]
    /// The users who have a connection.
    private var connected: [UInt32: UserConnections] = [:]
    /// What the users have, by the number of their owner.
    private var usages: [UInt32: OwnerUsage] = [:]
    let use: TotalUsage
    let reports: ReportFilter

    /// Opens the directory and loads its caches.
    init(_ options: KCMServer.Options) throws(StorageError) {
        self.options = options
        use = TotalUsage(options.limits.totals)
        reports = ReportFilter(options.report)
        storage = if let directory = options.directory { try Storage(directory) } else { nil }
        for user in try storage?.users() ?? [] {
            do {
                _ = try account(user)
                dropIfUnused(user)
            } catch {
                guard !error.isOfProcess else { throw error }
                dropIfEmpty(usage(of: user))
                // An unreadable folder of one user does not affect the others. The user's next connection tries again.
                reports.writeFailed(error)
            }
        }
    }

    /// Returns the usage against which a user is counted.
    private func usage(of user: UInt32) -> OwnerUsage {
        let owner = options.owner(user)
        if let usage = usages[owner] { return usage }
        let usage = OwnerUsage(owner: owner)
        usages[owner] = usage
        return usage
    }

    func dropIfEmpty(_ usage: OwnerUsage) {
        if usage.isEmpty, usages[usage.owner] === usage { usages[usage.owner] = nil }
    }

    /// Recounts all users after the result of ``KCMServer/Options/owner`` has changed.
    func countAgain() {
        for (user, account) in accounts {
            let old = account.usage
            account.move(to: usage(of: user))
            dropIfEmpty(old)
        }
        for (user, connections) in connected {
            let old = connections.usage
            connections.move(to: usage(of: user))
            dropIfEmpty(old)
        }
    }

    /// Returns the account of a user; creates the folder of a new user.
    func account(_ user: UInt32) throws(StorageError) -> UserAccount {
        if let account = accounts[user] { return account }
        let usage = usage(of: user)
        let account = try UserAccount(
            user: user,
            storage: storage?.user(user),
            options: options,
            use: use,
            usage: usage,
            reports: reports
        )
        accounts[user] = account
        return account
    }

    /// Returns the account of a user; nil if there is none yet.
    func presentAccount(_ user: UInt32) -> UserAccount? { accounts[user] }

    /// Whether root may use the account of a user, which is created if necessary.
    func rootCanUseAccount(of user: UInt32) -> Bool { accounts[user] != nil || use.hasRoomForUser(isRoot: true) }

    /// Whether a user has an account or may get one.
    func hasRoomForAccount(of user: UInt32, _ usage: OwnerUsage) -> Bool {
        guard accounts[user] == nil else { return true }
        // Each subordinate number has a folder, as each cache has a file.
        guard usage.owner == user || usage.accounts < options.storeLimits.caches else { return false }
        return use.hasRoomForUser(isRoot: user == 0)
    }

    /// Removes the account of a user who has nothing here, because there may be many of them.
    func dropIfUnused(_ user: UInt32) {
        guard connected[user] == nil, let account = accounts[user], account.isUnused else { return }
        account.leave()
        dropIfEmpty(account.usage)
        accounts[user] = nil
        storage?.removeFolder(of: user)
    }

    /// Removes the caches whose tickets have been unusable for longer than the retention period.
    func removeAbandonedCaches() {
        for (user, account) in accounts {
            account.removeAbandonedCaches()
            dropIfUnused(user)
        }
    }

    /// Unlocks the directory.
    func close() { storage?.close() }

    /// What each user who is served or has a cache uses.
    var counts: [ServerCounts] {
        accounts.map { user, account in account.counts(connections: connected[user]?.count ?? 0) }.sorted { $0.user < $1.user }
    }
}

// MARK: - Connections

extension UserTable {
    /// Returns what is counted for the connections of a user, who may have none yet.
    func connections(of user: UInt32) -> UserConnections {
        connected[user] ?? UserConnections(user: user, usage: usage(of: user))
    }

    /// Adds a user who has a connection.
    func add(_ user: UserConnections) { connected[user.user] = user }

    /// Counts a client's connection, which is opened or closed.
    func count(_ client: ConnectedClient, _ change: Int) {
        client.user.countConnection(isGranted: client.isGranted, change)
        if client.isGranted { use.connections += change } else { use.refusedConnections += change }
    }

    /// Forgets a user whose last connection has closed, unless the user has caches.
    func dropIfDisconnected(_ user: UserConnections) {
        guard user.count == 0 else { return }
        connected[user.user] = nil
        dropIfUnused(user.user)
        dropIfEmpty(user.usage)
    }

    /// The usage of the owner who has the most connections.
    var usageWithMostConnections: OwnerUsage? { usages.values.max { $0.grantedConnections < $1.grantedConnections } }
}
