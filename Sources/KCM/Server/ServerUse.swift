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

    /// Whether one more connection can be served.
    ///
    /// - Parameter isPreferred: Whether it is root's, or that of a user who has caches. A sixteenth is kept for them.
    func hasRoomForConnection(of holding: Holding, isPreferred: Bool) -> Bool {
        let total = totals.connections - (isPreferred ? 0 : totals.connections / 16)
        return Self.room(of: total, used: connections, own: holding.connections, few: 4) > 0
    }

    var hasRoomForRefusedConnection: Bool { refusedConnections < totals.refusedConnections }

    /// Whether one more user can have a folder. A sixteenth is kept for root.
    func hasRoomForUser(isRoot: Bool) -> Bool {
        let share = isRoot ? 0 : 1
        return files < totals.files - share * (totals.files / 16)
            && storedBytes + Self.costOfUser <= totals.storedBytes - share * (totals.storedBytes / 16)
    }

    /// Whether the bytes that wait are within the limit.
    func mayWait(own: Int) -> Bool { Self.room(of: totals.waitingBytes, used: waitingBytes, own: own, few: 16 << 10) >= 0 }

    /// The limits of a store of so many caches and bytes, so that its owner's stores together, and those of all, keep within theirs.
    func limits(within limits: StoreLimits, caches: Int, bytes: Int, of holding: Holding) -> StoreLimits {
        let more = Self.room(of: totals.files, used: files, own: holding.caches, few: 2)
        let moreBytes = Self.room(of: totals.storedBytes, used: storedBytes, own: holding.storedBytes, few: 64 << 10)
        return StoreLimits(
            caches: caches + min(limits.caches - holding.caches, more),
            bytes: bytes + min(limits.bytes - holding.storedBytes, moreBytes)
        )
    }
}
