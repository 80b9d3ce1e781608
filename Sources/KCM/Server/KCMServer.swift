internal import NIOCore
internal import NIOPosix
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A server of the credential-cache protocol: programs that use libkrb5 find their tickets here as `KCM:`.
///
/// It has one thread, an event loop that serves nothing else. There a request is decided, written to disk, applied and answered without a
/// stop, so that no request overtakes another and a reply means that the ticket is kept. A call that writes to a file may block, and
/// nowhere else would an event loop do so; here it is a copy into the page cache of a tmpfs, with no fsync, and a hop to another thread and
/// back would take longer. Who lets go of the server ends it.
package final class KCMServer: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let service: NIOLoopBoundBox<Service>
    private let report: (@Sendable (ServerReport) -> Void)?
    private let hasEnded = Atomic(false)

    /// Opens the directory and takes up what is there. It reads the files on the caller's thread.
    package init(_ options: Options) throws(StorageError) {
        let service = try Service(options)
        report = options.report
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        let box = NIOLoopBoundBox.makeBoxSendingValue(service, eventLoop: loop)
        self.service = box
        let step = TimeAmount(max(options.limits.idleTime / 4, .milliseconds(1)))
        _ = loop.scheduleRepeatedTask(initialDelay: step, delay: step) { _ in box.value.closeIdle(now: .now()) }
        // Not at once: a machine that has just started may still get its clock set.
        _ = loop.scheduleRepeatedTask(initialDelay: .minutes(10), delay: .minutes(10)) { _ in box.value.removeAbandonedCaches() }
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
        let standIn = try SocketStandIn(for: socket)
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try standIn.giveWay()
                    let pause = AcceptPauseHandler { reason in report?(reason.map { .acceptFailed($0) } ?? .acceptsAgain) }
                    try channel.pipeline.syncOperations.addHandler(pause)
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try service.value.accept(channel) }
            }
        let listener = try await bootstrap.withBoundSocket(standIn.descriptor).get()
        accepts()
        try await loop.submit { service.value.add(listener: listener, at: path, on: loop) }.get()
    }

    /// Accepts no more connections, answers what has arrived, and closes. Everything is on disk already.
    package func shutDown() async {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        let (service, loop) = (service, loop)
        try? await loop.flatSubmit { service.value.drain(on: loop) }.get()
        try? await loop.submit { service.value.close() }.get()
        try? await group.shutdownGracefully()
    }

    /// After a change of what ``Options/isPermitted`` says: closes the connections of those who are permitted no more, and of those who
    /// were not. Whoever still is connects again.
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

    /// Removes the caches whose tickets have been of no use for longer than ``Options/retention`` says. The server does it by itself every
    /// ten minutes.
    package func removeAbandonedCaches() async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.removeAbandonedCaches() }.get()
    }

    /// After a change of what ``Options/owner`` says: counts what each user has for the owner that it has now.
    package func countAgain() async {
        guard !hasEnded.load(ordering: .relaxed) else { return }
        let service = service
        try? await loop.submit { service.value.countAgain() }.get()
    }

    /// What each user has here who is served or has a cache.
    package var counts: [ServerCounts] {
        get async {
            guard !hasEnded.load(ordering: .relaxed) else { return [] }
            let service = service
            return (try? await loop.submit { service.value.counts }.get()) ?? []
        }
    }
}

extension KCMServer {
    /// How a server works.
    package struct Options: Sendable {
        /// Where the caches are kept, a folder for each user; nil keeps them in memory alone.
        package var directory: String?
        /// How much one user may keep.
        package var storeLimits: StoreLimits
        /// How long caches are kept whose tickets are of no use.
        package var retention: CacheRetention
        /// How much the clients of one user may take of the server.
        package var limits: ServerLimits
        /// Who is served, asked once for each connection on the server's thread: it must not wait. Who is not is told so by a code.
        package var isPermitted: @Sendable (PeerCredential) -> Bool
        /// Whether root reaches a cache of another user by a name that begins with the user's number and a colon, as in
        /// `KCM:1000:default`: pam_krb5 stores a user's ticket before the login process becomes that user.
        package var rootReachesOthers = false
        /// The time in seconds since 1970.
        package var now: @Sendable () -> UInt32
        /// Hears of each change once it is on disk, on the server's thread: it must not wait, nor call the server.
        package var observer: (@Sendable (StoreEvent) -> Void)?
        /// Receives what an administrator should read, on the server's thread: it must not wait.
        package var report: (@Sendable (ServerReport) -> Void)?
        /// With whom a user is counted against the limits: the one whose subordinate number it is (subuid(5)), else the user.
        package var owner: @Sendable (UInt32) -> UInt32
        /// Who opened a connection, by the kernel.
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

/// What one user has at the server.
package struct ServerCounts: Hashable, Sendable {
    /// The user.
    package let user: UInt32
    /// Open connections, refused ones included.
    package let connections: Int
    package let caches: Int
    /// Credentials in all caches; settings that libkrb5 keeps among them are not counted.
    package let tickets: Int
    /// The memory that the caches take, by the estimate that the limit is compared with.
    package let bytes: Int
}
