internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// All users and all connections. On the server's event loop alone: that is what keeps requests from overtaking each other.
final class Service {
    let options: KCMServer.Options
    private let storage: Storage?
    private var accounts: [UInt32: UserAccount] = [:]
    /// Those who have a connection.
    private var users: [UInt32: UserConnections] = [:]
    private var listeners: [any Channel] = []
    private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
    let use: ServerUse
    /// How many requests were answered.
    var answered = 0
    /// For the next reply.
    private var spareBuffer: ByteBuffer?

    /// Opens the directory and takes up what is there.
    init(_ options: KCMServer.Options) throws(StorageError) {
        self.options = options
        use = ServerUse(options.limits.totals)
        storage = if let directory = options.directory { try Storage(directory) } else { nil }
        for user in try storage?.users() ?? [] {
            _ = try account(user)
            dropIfUnused(user)
        }
    }

    /// What a user has here; the folder of one who is new is made.
    private func account(_ user: UInt32) throws(StorageError) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = try UserAccount(user: user, storage: storage?.user(user), options: options, use: use)
        accounts[user] = account
        return account
    }

    /// Forgets a user who has nothing here: so many there may be.
    private func dropIfUnused(_ user: UInt32) {
        guard users[user] == nil, let account = accounts[user], account.isUnused else { return }
        account.leave()
        accounts[user] = nil
        storage?.removeFolder(of: user)
    }

    /// Lets go of the directory.
    func close() { storage?.close() }

    func add(listener: any Channel) { listeners.append(listener) }

    /// Serves a connection that was accepted; one too many is closed.
    func accept(_ channel: any Channel) throws {
        guard let peer = options.peer(channel) else { return channel.close(promise: nil) }
        let user = users[peer.userID] ?? UserConnections(user: peer.userID)
        guard user.count < options.limits.connections + options.limits.refusedConnections else { return channel.close(promise: nil) }
        let handler = ConnectionHandler(channel: channel, peer: peer, user: user, service: self, access: access(of: peer, user))
        guard handler.isGranted || use.hasRoomForRefusedConnection else { return channel.close(promise: nil) }
        users[peer.userID] = user
        user.count += 1
        count(handler, 1)
        connections[ObjectIdentifier(handler)] = handler
        do { try channel.pipeline.syncOperations.addHandler(handler) } catch {
            remove(handler, of: user)
            throw error
        }
    }

    private func access(of peer: PeerCredential, _ user: UserConnections) -> ConnectionHandler.Access {
        // The overflow user stands for everybody whom the kernel can't name here: they have no cache in common.
        let hasName = peer.userID != PeerCredential.overflowUser || peer.userID == geteuid()
        guard hasName, options.isPermitted(peer) else { return .refused(.notPermitted) }
        guard user.count < options.limits.connections, use.hasRoomForConnection(own: user.count) else { return .refused(.limitReached) }
        guard accounts[peer.userID] != nil || use.hasRoomForUser else { return .refused(.limitReached) }
        do {
            return .granted(try account(peer.userID))
        } catch {
            options.writeFailure?(error)
            return .refused(.writeFailed)
        }
    }

    func remove(_ handler: ConnectionHandler, of user: UserConnections) {
        guard connections.removeValue(forKey: ObjectIdentifier(handler)) != nil else { return }
        count(handler, -1)
        user.count -= 1
        guard user.count == 0 else { return }
        users[user.user] = nil
        dropIfUnused(user.user)
    }

    private func count(_ handler: ConnectionHandler, _ change: Int) {
        if handler.isGranted { use.connections += change } else { use.refusedConnections += change }
    }

    /// Closes the connections that have been without a request for too long.
    func closeIdle(now: NIODeadline) {
        let end = now - TimeAmount(options.limits.idleTime)
        for connection in connections.values where connection.lastRequest < end { connection.channel.close(promise: nil) }
    }

    /// Closes the connections of those who are permitted no more, and those on which all is refused: the next one may be served.
    func closeConnections(unless isPermitted: (PeerCredential) -> Bool) {
        for connection in connections.values where !connection.isGranted || !isPermitted(connection.peer) {
            connection.channel.close(promise: nil)
        }
    }

    var counts: [ServerCounts] {
        accounts.map { user, account in account.counts(connections: users[user]?.count ?? 0) }.sorted { $0.user < $1.user }
    }

    /// A buffer for a reply.
    func emptyBuffer(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        guard var buffer = spareBuffer.take() else { return allocator.buffer(capacity: 4096) }
        buffer.clear()
        return buffer
    }

    /// Takes back a reply's buffer that nobody reads any more.
    func giveBack(_ buffer: ByteBuffer) {
        buffer.wipeInPlace()
        if buffer.capacity <= 1 << 16 { spareBuffer = buffer }
    }

    // MARK: - The end

    /// Accepts no more connections, answers what has arrived, and closes.
    ///
    /// What a client has sent is in the kernel, and no call says that nothing is left there. So the end is a moment of silence; the client
    /// that never falls silent gets one second.
    func drain(on loop: any EventLoop) -> EventLoopFuture<Void> {
        for listener in listeners { listener.close(promise: nil) }
        listeners = []
        let promise = loop.makePromise(of: Void.self)
        waitForSilence(on: loop, until: .now() + .seconds(1), promise)
        return promise.futureResult
    }

    private func waitForSilence(on loop: any EventLoop, until end: NIODeadline, _ promise: EventLoopPromise<Void>) {
        guard !connections.isEmpty else { return promise.succeed() }
        let seen = answered
        loop.assumeIsolated().scheduleTask(in: .milliseconds(20)) {
            let isSilent = self.answered == seen && self.connections.values.allSatisfy(\.hasSentAll)
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
