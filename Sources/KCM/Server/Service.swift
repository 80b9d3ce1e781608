internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// All connections, and the requests of their clients. Used only on the server's event loop, which keeps the requests in order.
final class Service {
    let options: KCMServer.Options
    let users: UserTable
    let turns: Turns
    /// By the paths at which they are bound.
    private var listeners: [String: any Channel] = [:]
    private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
    /// A buffer to reuse for the next reply.
    private var spareBuffer: ByteBuffer?

    /// Opens the directory and loads its caches.
    init(_ options: KCMServer.Options) throws(StorageError) {
        self.options = options
        users = try UserTable(options)
        turns = Turns(time: options.limits.turnTime)
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
        guard users.rootCanUseAccount(of: user) else { return Reply(code: .limitReached) }
        defer { users.dropIfUnused(user) }
        do {
            return try users.account(user).reply(to: frame, connection: &connection, replyLimit: replyLimit)
        } catch {
            users.reports.writeFailed(error)
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
        let other =
            options.rootReachesOthers && peer.userID == 0 ? Self.owner(ofCacheIn: frame.bytes).flatMap { users.presentAccount($0) } : nil
        guard let outline = try? ReplacementOutline(frame.bytes, length: length), (other ?? own).hasRoom(for: outline) else {
            return .quotaExceeded
        }
        return .unsupported
    }

    /// Unlocks the directory, and forgets the connections whose requests were not answered: they would keep this service alive.
    func close() {
        users.close()
        turns.removeAll()
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
        let user = users.connections(of: peer.userID)
        defer { users.dropIfEmpty(user.usage) }
        guard user.usage.connections < options.limits.connections + options.limits.refusedConnections else {
            return channel.close(promise: nil)
        }
        let client = ConnectedClient(peer: peer, user: user, access: access(of: peer, user))
        let handler = ConnectionHandler(channel, client, service: self)
        guard client.isGranted || users.use.hasRoomForRefusedConnection else { return channel.close(promise: nil) }
        users.add(user)
        users.count(client, 1)
        connections[ObjectIdentifier(handler)] = handler
        do {
            // Answer what has been read before reading more.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            // A client may close its sending side before it reads the replies.
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            remove(handler)
            throw error
        }
    }

    private func access(of peer: PeerCredential, _ user: UserConnections) -> ConnectedClient.Access {
        // The overflow user represents all users whom the kernel cannot map here; they must not share a cache.
        let hasName = peer.userID != PeerCredential.overflowUser || peer.userID == geteuid()
        guard hasName, options.isPermitted(peer) else { return .refused(.notPermitted) }
        guard users.hasRoomForAccount(of: peer.userID, user.usage) else { return .refused(.limitReached) }
        guard user.usage.connections < options.limits.connections, makeRoomForConnection(of: peer.userID, user.usage) else {
            return .refused(.limitReached)
        }
        do {
            return .granted(try users.account(peer.userID))
        } catch {
            users.reports.writeFailed(error)
            return .refused(.writeFailed)
        }
    }

    /// Whether there is room for one more connection, if necessary after closing the least needed one.
    ///
    /// libkrb5 reconnects when it finds a connection closed, so a program with an idle connection does not notice.
    private func makeRoomForConnection(of user: UInt32, _ usage: OwnerUsage) -> Bool {
        let isPreferred = user == 0 || users.presentAccount(user).map { !$0.isUnused } ?? false
        if users.use.hasRoomForConnection(of: usage, isPreferred: isPreferred) { return true }
        // After losing one, that owner still has at least as many connections as this one will have.
        guard let richest = users.usageWithMostConnections, richest.grantedConnections > usage.grantedConnections + 1 else { return false }
        let theirs = connections.values.filter { $0.client.isGranted && $0.client.user.usage === richest }
        guard let idlest = theirs.min(by: { ($0.isBusy ? 1 : 0, $0.lastRequest) < ($1.isBusy ? 1 : 0, $1.lastRequest) }) else {
            return false
        }
        remove(idlest)
        idlest.channel.close(promise: nil)
        return true
    }

    /// Forgets a connection that closes.
    func remove(_ handler: ConnectionHandler) {
        guard connections.removeValue(forKey: ObjectIdentifier(handler)) != nil else { return }
        users.count(handler.client, -1)
        users.dropIfDisconnected(handler.client.user)
    }

    /// Closes the connections that have sent no request for too long.
    func closeIdle(now: NIODeadline) {
        let end = now - TimeAmount(options.limits.idleTime)
        for connection in connections.values where connection.lastRequest < end { connection.channel.close(promise: nil) }
    }

    /// Closes the connections that are no longer permitted, and the refused ones, whose next connection may be served.
    func closeConnections(unless isPermitted: (PeerCredential) -> Bool) {
        for connection in connections.values where !connection.client.isGranted || !isPermitted(connection.client.peer) {
            connection.channel.close(promise: nil)
        }
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
        let seen = turns.answered
        loop.assumeIsolated().scheduleTask(in: .milliseconds(20)) {
            let isSilent = self.turns.answered == seen && self.turns.isEmpty && self.connections.values.allSatisfy(\.hasSentAll)
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
