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
        /// How much the clients of one user may take of the server.
        package var limits: ServerLimits
        /// Who is served, asked once for each connection on the server's thread: it must not wait. Who is not is told so by a code.
        package var isPermitted: @Sendable (PeerCredential) -> Bool
        /// The time in seconds since 1970.
        package var now: @Sendable () -> UInt32
        /// Hears of each change once it is on disk, on the server's thread: it must not wait, nor call the server.
        package var observer: (@Sendable (StoreEvent) -> Void)?
        /// Hears why a change could not be written, on the server's thread: the client gets a code alone.
        package var writeFailure: (@Sendable (StorageError) -> Void)?
        /// Who opened a connection, by the kernel.
        var peer: @Sendable (any Channel) -> PeerCredential? = { PeerCredential($0) }

        package init(
            directory: String? = nil,
            storeLimits: StoreLimits = StoreLimits(),
            limits: ServerLimits = ServerLimits(),
            isPermitted: @escaping @Sendable (PeerCredential) -> Bool,
            now: @escaping @Sendable () -> UInt32 = { UInt32(truncatingIfNeeded: time(nil)) },
            observer: (@Sendable (StoreEvent) -> Void)? = nil,
            writeFailure: (@Sendable (StorageError) -> Void)? = nil
        ) {
            self.directory = directory
            self.storeLimits = storeLimits
            self.limits = limits
            self.isPermitted = isPermitted
            self.now = now
            self.observer = observer
            self.writeFailure = writeFailure
        }
    }
}
