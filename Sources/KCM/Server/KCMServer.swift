internal import NIOCore
internal import NIOPosix
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A server of the KCM protocol, from which programs that use libkrb5 get their credentials as `KCM:` caches.
///
/// It has one thread, an event loop that serves nothing else. There each request is decided, written to disk, applied and answered without
/// interruption, so that requests are never reordered and a reply means that the ticket is stored. A write to a file may block, which an
/// event loop normally must avoid. Here it copies into the page cache of a tmpfs without fsync, which is faster than switching to another
/// thread and back. Releasing the last reference to the server stops it.
package final class KCMServer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let service: NIOLoopBoundBox<Service>
    private let report: (@Sendable (ServerReport) -> Void)?
    private let hasEnded = Atomic(false)

    /// Opens the directory and loads its caches. Reads the files on the caller's thread.
    package init(_ options: Options) throws(StorageError) {
        let service = try Service(options)
        report = options.report
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        let box = NIOLoopBoundBox.makeBoxSendingValue(service, eventLoop: loop)
        self.service = box
        let step = TimeAmount(max(options.limits.idleTime / 4, .milliseconds(1)))
        _ = loop.scheduleRepeatedTask(initialDelay: step, delay: step) { _ in box.value.closeIdle(now: .now()) }
        // The first run is delayed, because the clock of a machine that has just booted may not be set yet.
        let interval = TimeAmount(options.retention.interval)
        _ = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in box.value.users.removeAbandonedCaches() }
    }

    deinit {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        group.shutdownGracefully { _ in }
    }

    /// Serves the clients of a socket; returns once it accepts them. May be called for several sockets. One at a path that is served
    /// already replaces the former socket, which is closed; connections that are open stay open.
    ///
    /// - Parameter accepts: Called when connections are accepted, before the former socket is closed.
    /// - Throws: What makes the socket unusable, or that the server has ended.
    package func serve(_ socket: consuming ListeningSocket, accepts: @Sendable () -> Void = {}) async throws {
        let (service, report, loop, path) = (service, report, loop, socket.path)
        let placeholder = try PlaceholderSocket(for: socket)
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try placeholder.replace()
                    let pause = AcceptPauseHandler { reason in report?(reason.map { .acceptFailed($0) } ?? .acceptsAgain) }
                    try channel.pipeline.syncOperations.addHandler(pause)
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    defer { AcceptPauseHandler.connectionIsSetUp(channel) }
                    try service.value.accept(channel)
                }
            }
        let listener = try await bootstrap.withBoundSocket(placeholder.descriptor).get()
        accepts()
        try await loop.submit { service.value.add(listener: listener, at: path, on: loop) }.get()
    }

    /// Stops accepting connections, answers the requests that have arrived, and closes. All changes are already on disk.
    package func shutDown() async {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        let (service, loop) = (service, loop)
        try? await loop.flatSubmit { service.value.drain(on: loop) }.get()
        try? await loop.submit { service.value.close() }.get()
        try? await group.shutdownGracefully()
    }

    /// Closes the connections that are no longer permitted, and those that were refused; clients that are permitted reconnect. Call it
    /// after the result of ``Options/isPermitted`` has changed.
    package func closeConnections(unless isPermitted: @escaping @Sendable (PeerCredential) -> Bool) async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.closeConnections(unless: isPermitted) }.get()
    }

    /// Closes the connections whose last request is longer ago than ``ServerLimits/idleTime``. The server does it by itself.
    func closeIdle(now: NIODeadline) async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.closeIdle(now: now) }.get()
    }

    /// Removes the caches whose tickets have been of no use for longer than ``Options/retention`` says. The server does it by itself at
    /// ``CacheRetention/interval``.
    package func removeAbandonedCaches() async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.users.removeAbandonedCaches() }.get()
    }

    /// Recounts what each user has under the user's current owner. Call it after the result of ``Options/owner`` has changed.
    package func countAgain() async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.users.countAgain() }.get()
    }

    /// The usage of each user who is served or has a cache.
    package var counts: [ServerCounts] {
        get async {
            guard !hasEnded.load(ordering: .relaxed) else { return [] }
            let service = service
            return (try? await loop.submit { service.value.users.counts }.get()) ?? []
        }
    }
}

extension KCMServer {
    /// The configuration of a server.
    package struct Options: Sendable {
        /// The directory that stores the caches, with a folder for each user; nil stores them only in memory.
        package var directory: String?
        /// The limits on what one user may store.
        package var storeLimits: StoreLimits
        /// How long unusable caches are retained.
        package var retention: CacheRetention
        /// The limits on what the clients of one user, and of all users, may use of the server.
        package var limits: ServerLimits
        /// Whether a client is permitted. Called once for each connection on the server's thread, so it must not block. A client that is
        /// not permitted receives an error code.
        package var isPermitted: @Sendable (PeerCredential) -> Bool
        /// Whether root can access another user's cache by a name that begins with the user's number and a colon, such as
        /// `KCM:1000:default`. pam_krb5 stores a user's ticket before the login process switches to that user.
        package var rootReachesOthers = false
        /// Returns the time in seconds since 1970.
        package var now: @Sendable () -> UInt32
        /// Receives each change once it is on disk. Called on the server's thread: it must not block or call the server.
        package var observer: (@Sendable (StoreEvent) -> Void)?
        /// Receives reports for the administrator. Called on the server's thread: it must not block.
        package var report: (@Sendable (ServerReport) -> Void)?
        /// The user against whose limits a user is counted: the owner of a subordinate user number (subuid(5)), otherwise the user itself.
        package var owner: @Sendable (UInt32) -> UInt32
        /// Returns the kernel's credentials of a connection's client.
        var peer: @Sendable (any Channel) -> PeerCredential? = { PeerCredential($0) }

        package init(
            directory: String? = nil,
            storeLimits: StoreLimits = StoreLimits(),
            retention: CacheRetention = CacheRetention(),
            limits: ServerLimits = ServerLimits(),
            isPermitted: @escaping @Sendable (PeerCredential) -> Bool,
            now: @escaping @Sendable () -> UInt32 = { UInt32(truncatingIfNeeded: time(nil)) },
            observer: (@Sendable (StoreEvent) -> Void)? = nil,
            report: (@Sendable (ServerReport) -> Void)? = nil,
            owner: @escaping @Sendable (UInt32) -> UInt32 = { $0 }
        ) {
            self.directory = directory
            self.storeLimits = storeLimits
            self.retention = retention
            self.limits = limits
            self.isPermitted = isPermitted
            self.now = now
            self.observer = observer
            self.report = report
            self.owner = owner
        }
    }
}

/// What one user currently uses of the server.
package struct ServerCounts: Hashable, Sendable {
    /// The user's number.
    package let user: UInt32
    /// Open connections, refused ones included.
    package let connections: Int
    package let caches: Int
    /// The number of credentials in all caches, without libkrb5's configuration entries.
    package let tickets: Int
    /// The estimated memory of the caches, which is compared with the limit.
    package let bytes: Int
}
