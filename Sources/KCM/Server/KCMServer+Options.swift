internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

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
