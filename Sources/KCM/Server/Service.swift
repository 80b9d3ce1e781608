internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// All users and all connections. On the server's event loop alone: that is what keeps requests from overtaking each other.
final class Service {
    let options: KCMServer.Options
    private var accounts: [UInt32: UserAccount] = [:]
    private var listeners: [any Channel] = []
    private var connections: [ObjectIdentifier: ConnectionHandler] = [:]
    /// How many requests were answered.
    var answered = 0

    init(_ options: KCMServer.Options) { self.options = options }

    private func account(_ user: UInt32) -> UserAccount {
        if let account = accounts[user] { return account }
        let account = UserAccount(user: user, options: options)
        accounts[user] = account
        return account
    }

    func add(listener: any Channel) { listeners.append(listener) }

    /// Serves a connection that was accepted; one too many is closed.
    func accept(_ channel: any Channel) throws {
        guard let peer = PeerCredential(channel) else { return channel.close(promise: nil) }
        let account = account(peer.userID)
        let beyond = account.connections - options.limits.connections
        guard beyond < options.limits.refusedConnections else { return channel.close(promise: nil) }
        let refusal: ReplyCode? = !isServed(peer) ? .notPermitted : beyond >= 0 ? .limitReached : nil
        let handler = ConnectionHandler(channel: channel, account: account, service: self, refusal: refusal)
        try channel.pipeline.syncOperations.addHandler(handler)
        account.connections += 1
        connections[ObjectIdentifier(handler)] = handler
    }

    /// The overflow user stands for everybody whom the kernel can't name here: they have no cache in common.
    private func isServed(_ peer: PeerCredential) -> Bool {
        (peer.userID != PeerCredential.overflowUser || peer.userID == geteuid()) && options.isPermitted(peer)
    }

    func remove(_ handler: ConnectionHandler, account: UserAccount) {
        guard connections.removeValue(forKey: ObjectIdentifier(handler)) != nil else { return }
        account.connections -= 1
    }

    /// Closes the connections that have been without a request for too long.
    func closeIdle(now: NIODeadline) {
        let end = now - TimeAmount(options.limits.idleTime)
        for connection in connections.values where connection.lastRequest < end { connection.channel.close(promise: nil) }
    }

    var counts: [ServerCounts] { accounts.values.map(\.counts).sorted { $0.user < $1.user } }

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
