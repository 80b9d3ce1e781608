/// What all users together take of the server. On its event loop alone.
final class ServerUse {
    private let totals: ServerTotals
    /// Connections that are served.
    var connections = 0
    var refusedConnections = 0
    var waitingBytes = 0
    var files = 0
    var storedBytes = 0

    /// What a user costs who has no cache: a folder and the name of the default cache.
    static let costOfUser = 8192

    init(_ totals: ServerTotals) { self.totals = totals }

    /// How much more a user may take who has so much: any of what is not kept for others, or what makes it a few.
    private static func room(of total: Int, used: Int, own: Int, few: Int) -> Int {
        max(total - total / 4 - used, min(total - used, few - own))
    }

    func hasRoomForConnection(own: Int) -> Bool { Self.room(of: totals.connections, used: connections, own: own, few: 4) > 0 }

    var hasRoomForRefusedConnection: Bool { refusedConnections < totals.refusedConnections }

    var hasRoomForUser: Bool { files < totals.files && storedBytes + Self.costOfUser <= totals.storedBytes }

    /// Whether the bytes that wait are within the limit.
    func mayWait(own: Int) -> Bool { Self.room(of: totals.waitingBytes, used: waitingBytes, own: own, few: 16 << 10) >= 0 }

    /// The limits of a user who has so much, so that all keep within theirs.
    func limits(within limits: StoreLimits, caches: Int, bytes: Int) -> StoreLimits {
        let more = Self.room(of: totals.files, used: files, own: caches, few: 2)
        let moreBytes = Self.room(of: totals.storedBytes, used: storedBytes, own: bytes, few: 64 << 10)
        return StoreLimits(caches: caches + min(limits.caches - caches, more), bytes: bytes + min(limits.bytes - bytes, moreBytes))
    }
}
