internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// All users and all connections. Used only on the server's event loop, which keeps the requests in order.
final class Service {
    let options: KCMServer.Options
    private let storage: Storage?
    private var accounts: [UInt32: UserAccount] = [:]
    /// The users who have a connection.
    private var users: [UInt32: UserConnections] = [:]
    /// What the users have, by the number of their owner.
    private var usages: [UInt32: OwnerUsage] = [:]
    /// By the paths at which they are bound.
    private var listeners: [String: any Channel] = [:]
    private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
    let use: TotalUsage
    let reports: ReportFilter
    private var turns = TurnQueue<ConnectionHandler>()
    /// Whether a call of ``takeTurns(on:)`` is scheduled.
    private var areTurnsDue = false
    /// The number of requests that were answered.
    var answered = 0
    /// A buffer to reuse for the next reply.
    private var spareBuffer: ByteBuffer?

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

    private func dropIfEmpty(_ usage: OwnerUsage) {
        if usage.isEmpty, usages[usage.owner] === usage { usages[usage.owner] = nil }
    }

    /// Recounts all users after the result of ``KCMServer/Options/owner`` has changed.
    func countAgain() {
        for (user, account) in accounts {
            let old = account.usage
            account.move(to: usage(of: user))
            dropIfEmpty(old)
        }
        for (user, connections) in users {
            let old = connections.usage
            connections.move(to: usage(of: user))
            dropIfEmpty(old)
        }
    }

    /// Returns the account of a user; creates the folder of a new user.
    private func account(_ user: UInt32) throws(StorageError) -> UserAccount {
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

    /// Executes a request of a connection, or a part of it (``ConnectionState/isUnfinished``): in its own user's caches or, for root, in
    /// those of the user whom the cache name specifies.
    ///
    /// - Parameter replyLimit: The maximum length of a reply; a longer one is not built.
    func reply(
        to frame: [UInt8],
        from peer: PeerCredential,
        own: UserAccount,
        connection: inout ConnectionState,
        replyLimit: Int
    ) -> Reply? {
        guard options.rootReachesOthers, peer.userID == 0, let user = Self.owner(ofCacheIn: frame), user != 0 else {
            return own.reply(to: frame, connection: &connection, replyLimit: replyLimit)
        }
        guard accounts[user] != nil || use.hasRoomForUser(isRoot: true) else { return Reply(code: .limitReached) }
        defer { dropIfUnused(user) }
        do {
            return try account(user).reply(to: frame, connection: &connection, replyLimit: replyLimit)
        } catch {
            reports.writeFailed(error)
            return Reply(code: .writeFailed)
        }
    }

    /// Returns the user whose number begins the cache name of a request; nil if the request names no cache, or the name has no number.
    private static func owner(ofCacheIn frame: [UInt8]) -> UInt32? {
        guard frame.count > 4, let operation = Operation(rawValue: UInt16(frame[2]) << 8 | UInt16(frame[3])) else { return nil }
        switch operation {
        case .noOperation, .generateName, .cacheIdentifiers, .defaultCache, .cacheName: return nil
        default: return CacheName(frame[4...].prefix(CacheName.maximumLength + 1).prefix { $0 != 0 }).owner
        }
    }

    /// Returns the reply to a request that was too long, or for which there was no room.
    ///
    /// Only after `unsupported` does libkrb5 empty the cache and store the tickets one by one. If that failed halfway, the old tickets
    /// would be lost, so it is the reply only if all of the tickets fit.
    func refusal(of frame: FrameDecoder.Frame, length: Int, from peer: PeerCredential, own: UserAccount) -> ReplyCode {
        guard frame.refusedOperation == Operation.replace.rawValue else { return .limitReached }
        guard length > options.limits.requestBytes else { return length > options.storeLimits.bytes ? .quotaExceeded : .limitReached }
        // There was no room even for its beginning.
        guard frame.bytes.count > 4 else { return .limitReached }
        let other = options.rootReachesOthers && peer.userID == 0 ? Self.owner(ofCacheIn: frame.bytes).flatMap { accounts[$0] } : nil
        guard let outline = try? ReplacementOutline(frame.bytes, length: length), (other ?? own).hasRoom(for: outline) else {
            return .quotaExceeded
        }
        return .unsupported
    }

    /// Removes the account of a user who has nothing here, because there may be many of them.
    private func dropIfUnused(_ user: UInt32) {
        guard users[user] == nil, let account = accounts[user], account.isUnused else { return }
        account.leave()
        dropIfEmpty(account.usage)
        accounts[user] = nil
        storage?.removeFolder(of: user)
    }

    /// Unlocks the directory, and forgets the connections whose requests were not answered: they would keep this service alive.
    func close() {
        storage?.close()
        turns = TurnQueue()
    }

    /// Adds a listening channel, and closes the former one at the same path. Connections that are open stay open.
    func add(listener: any Channel, at path: String, on loop: any EventLoop) {
        guard let former = listeners.updateValue(listener, forKey: path) else { return }
        // A connection that the kernel completed a moment ago is accepted first.
        loop.assumeIsolated().scheduleTask(in: .milliseconds(20)) { former.close(promise: nil) }
    }

    /// Serves an accepted connection, or closes it if there are too many.
    func accept(_ channel: any Channel) throws {
        guard let peer = options.peer(channel) else { return channel.close(promise: nil) }
        let user = users[peer.userID] ?? UserConnections(user: peer.userID, usage: usage(of: peer.userID))
        defer { dropIfEmpty(user.usage) }
        guard user.usage.connections < options.limits.connections + options.limits.refusedConnections else {
            return channel.close(promise: nil)
        }
        let handler = ConnectionHandler(channel: channel, peer: peer, user: user, service: self, access: access(of: peer, user))
        guard handler.isGranted || use.hasRoomForRefusedConnection else { return channel.close(promise: nil) }
        users[peer.userID] = user
        count(handler, 1)
        connections[ObjectIdentifier(handler)] = handler
        do {
            // Answer what has been read before reading more.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            // A client may close its sending side before it reads the replies.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            remove(handler, of: user)
            throw error
        }
    }

    private func access(of peer: PeerCredential, _ user: UserConnections) -> ConnectionHandler.Access {
        // The overflow user represents all users whom the kernel cannot map here; they must not share a cache.
        let hasName = peer.userID != PeerCredential.overflowUser || peer.userID == geteuid()
        guard hasName, options.isPermitted(peer) else { return .refused(.notPermitted) }
        guard hasRoomForAccount(of: peer.userID, user.usage) else { return .refused(.limitReached) }
        guard user.usage.connections < options.limits.connections, makeRoomForConnection(of: peer.userID, user.usage) else {
            return .refused(.limitReached)
        }
        do {
            return .granted(try account(peer.userID))
        } catch {
            reports.writeFailed(error)
            return .refused(.writeFailed)
        }
    }

    /// Whether a user has an account or may get one.
    private func hasRoomForAccount(of user: UInt32, _ usage: OwnerUsage) -> Bool {
        guard accounts[user] == nil else { return true }
        // Each subordinate number has a folder, as each cache has a file.
        guard usage.owner == user || usage.accounts < options.storeLimits.caches else { return false }
        return use.hasRoomForUser(isRoot: user == 0)
    }

    /// Whether there is room for one more connection, if necessary after closing the least needed one.
    ///
    /// libkrb5 reconnects when it finds a connection closed, so a program with an idle connection does not notice.
    private func makeRoomForConnection(of user: UInt32, _ usage: OwnerUsage) -> Bool {
        let isPreferred = user == 0 || accounts[user].map { !$0.isUnused } ?? false
        if use.hasRoomForConnection(of: usage, isPreferred: isPreferred) { return true }
        // After losing one, that owner still has at least as many connections as this one will have.
        guard let richest = usages.values.max(by: { $0.grantedConnections < $1.grantedConnections }),
            richest.grantedConnections > usage.grantedConnections + 1
        else { return false }
        let theirs = connections.values.filter { $0.isGranted && $0.user.usage === richest }
        guard let idlest = theirs.min(by: { ($0.isBusy ? 1 : 0, $0.lastRequest) < ($1.isBusy ? 1 : 0, $1.lastRequest) }) else {
            return false
        }
        remove(idlest, of: idlest.user)
        idlest.channel.close(promise: nil)
        return true
    }

    func remove(_ handler: ConnectionHandler, of user: UserConnections) {
        guard connections.removeValue(forKey: ObjectIdentifier(handler)) != nil else { return }
        count(handler, -1)
        guard user.count == 0 else { return }
        users[user.user] = nil
        dropIfUnused(user.user)
        dropIfEmpty(user.usage)
    }

    private func count(_ handler: ConnectionHandler, _ change: Int) {
        handler.user.countConnection(isGranted: handler.isGranted, change)
        if handler.isGranted { use.connections += change } else { use.refusedConnections += change }
    }

    // MARK: - Turns

    /// Queues a connection to have its next request answered when it is its turn.
    func queue(_ connection: ConnectionHandler, on loop: any EventLoop) {
        turns.append(connection, of: connection.user.usage.owner)
        guard !areTurnsDue else { return }
        areTurnsDue = true
        // Runs after the input that the sockets delivered at the same time.
        loop.assumeIsolated().execute { self.takeTurns(on: loop) }
    }

    /// Answers one request of each connection, alternating between users, until the turn time is over.
    ///
    /// A long reply makes its connection queue again from within. ``areTurnsDue`` stays set meanwhile, so that there is never a second task
    /// that would, together with this one, keep the event loop from polling its sockets.
    private func takeTurns(on loop: any EventLoop) {
        let end = NIODeadline.now() + TimeAmount(options.limits.turnTime)
        repeat {
            guard let connection = turns.next() else { return areTurnsDue = false }
            if connection.answerNext() { turns.append(connection, of: connection.user.usage.owner) }
        } while .now() < end
        guard !turns.isEmpty else { return areTurnsDue = false }
        // An event loop that always has a task to run never polls its sockets; it does before a task with a later deadline. The deadline
        // must still be in the future when the loop looks at it, even if the machine is busy.
        loop.assumeIsolated().scheduleTask(in: .microseconds(200)) { self.takeTurns(on: loop) }
    }

    /// Closes the connections that have sent no request for too long.
    func closeIdle(now: NIODeadline) {
        let end = now - TimeAmount(options.limits.idleTime)
        for connection in connections.values where connection.lastRequest < end { connection.channel.close(promise: nil) }
    }

    /// Removes the caches whose tickets have been unusable for longer than the retention period.
    func removeAbandonedCaches() {
        for (user, account) in accounts {
            account.removeAbandonedCaches()
            dropIfUnused(user)
        }
    }

    /// Closes the connections that are no longer permitted, and the refused ones, whose next connection may be served.
    func closeConnections(unless isPermitted: (PeerCredential) -> Bool) {
        for connection in connections.values where !connection.isGranted || !isPermitted(connection.peer) {
            connection.channel.close(promise: nil)
        }
    }

    var counts: [ServerCounts] {
        accounts.map { user, account in account.counts(connections: users[user]?.count ?? 0) }.sorted { $0.user < $1.user }
    }

    /// Returns an empty buffer for a reply.
    func emptyBuffer(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        guard var buffer = spareBuffer.take() else { return allocator.buffer(capacity: 4096) }
        buffer.clear()
        return buffer
    }

    /// Takes back a reply's buffer once it has been sent.
    func giveBack(_ buffer: ByteBuffer) {
        buffer.wipeInPlace()
        if buffer.capacity <= 1 << 16 { spareBuffer = buffer }
    }

    // MARK: - Shutdown

    /// Stops accepting connections, answers the requests that have arrived, and closes.
    ///
    /// A client's request may still be in the kernel, and no call reports that nothing is left there. So the server closes after 20 ms in
    /// which it answered no request, or after one second in any case.
    func drain(on loop: any EventLoop) -> EventLoopFuture<Void> {
        for listener in listeners.values { listener.close(promise: nil) }
        listeners = [:]
        let promise = loop.makePromise(of: Void.self)
        waitForSilence(on: loop, until: .now() + .seconds(1), promise)
        return promise.futureResult
    }

    private func waitForSilence(on loop: any EventLoop, until end: NIODeadline, _ promise: EventLoopPromise<Void>) {
        guard !connections.isEmpty else { return promise.succeed() }
        let seen = answered
        loop.assumeIsolated().scheduleTask(in: .milliseconds(20)) {
            let isSilent = self.answered == seen && self.turns.isEmpty && self.connections.values.allSatisfy(\.hasSentAll)
            guard isSilent || .now() >= end else { return self.waitForSilence(on: loop, until: end, promise) }
            self.closeAll(on: loop, promise)
        }
    }

    private func closeAll(on loop: any EventLoop, _ promise: EventLoopPromise<Void>) {
        let channels = connections.values.map(\.channel)
        for channel in channels { channel.close(promise: nil) }
        EventLoopFuture.andAllComplete(channels.map(\.closeFuture), on: loop).cascade(to: promise)
    }
}

/// The connections with waiting requests in the order of their turns. Users alternate, and so do the connections of each user.
///
/// So however many requests a client sends ahead, over however many connections, another user's request waits for only one of them.
struct TurnQueue<Connection> {
    private var users = CircularBuffer<UInt32>()
    private var connections: [UInt32: CircularBuffer<Connection>] = [:]

    var isEmpty: Bool { users.isEmpty }

    /// Appends a connection after the others of its user, and its user after the other users if the user has none waiting.
    mutating func append(_ connection: Connection, of user: UInt32) {
        if connections[user] == nil { users.append(user) }
        connections[user, default: CircularBuffer()].append(connection)
    }

    /// Removes and returns the connection whose turn it is; nil if none is waiting.
    mutating func next() -> Connection? {
        guard let user = users.popFirst(), let connection = connections[user]?.popFirst() else { return nil }
        if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
        return connection
    }
}
