/// What the server knows of one connection: which clock offsets its client has heard of.
///
/// libkrb5 asks for a cache's offset when it begins to list the cache and never for RETRIEVE. So behind a KDC whose clock is off, a
/// program that only retrieves would fail with a clock skew. Where the client does not know the offset, RETRIEVE is refused in a way that
/// makes it list the cache, and so ask.
package struct ConnectionState: Sendable {
    private var offsets: [(name: CacheName, offset: Int32)] = []

    package init() {}

    /// A connection of libkrb5 serves one cache, one of Heimdal several. One that is forgotten costs its client one listing.
    private static let maximumCount = 16

    /// Whether the client reckons with this offset; one that has heard of none reckons with zero.
    func knows(_ offset: Int32, of name: CacheName) -> Bool { (offsets.first { $0.name == name }?.offset ?? 0) == offset }

    /// The client was told an offset, or has told it.
    mutating func learn(_ offset: Int32, of name: CacheName) {
        offsets.removeAll { $0.name == name }
        if offsets.count == Self.maximumCount { offsets.removeFirst() }
        offsets.append((name, offset))
    }
}
