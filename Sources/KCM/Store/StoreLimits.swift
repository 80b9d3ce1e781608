/// How much one user may keep. Beyond it expired tickets give way, live ones never: a request that finds no room is refused.
package struct StoreLimits: Hashable, Sendable {
    /// How many caches a user may have who says nothing else, as in sssd.
    package static let defaultCaches = 64

    /// The number of caches.
    package var caches: Int
    /// The memory of all caches, by an estimate that counts what a ticket costs beside its bytes.
    package var bytes: Int

    package init(caches: Int = StoreLimits.defaultCaches, bytes: Int = 64 << 20) {
        self.caches = caches
        self.bytes = bytes
    }
}
