/// The limits on what the clients of one user, and of all users together, may use of the server.
package struct ServerLimits: Hashable, Sendable {
    /// The number of connections that are served. libkrb5 has one for each open cache; the default leaves room when a process has leaked a
    /// thousand.
    package var connections: Int
    /// The number of further connections that are answered with an error code; beyond it connections are closed without an answer.
    package var refusedConnections: Int
    /// The number of bytes, over all connections, of requests that have not been answered and replies that have not been read.
    package var waitingBytes: Int
    /// The length of one request in bytes.
    package var requestBytes: Int
    /// The time without a complete request after which a connection is closed. libkrb5 reconnects, but not while it waits for a password,
    /// so outside tests this is at least five minutes.
    package var idleTime: Duration
    /// How long the server answers requests before it polls its sockets again; it answers at least one.
    package var turnTime: Duration
    /// The limits for all users together.
    package var totals: ServerTotals

    package init(
        connections: Int = 1100,
        refusedConnections: Int = 64,
        waitingBytes: Int = 64 << 20,
        requestBytes: Int = FrameDecoder.maximumLength,
        idleTime: Duration = .seconds(600),
        turnTime: Duration = .milliseconds(2),
        totals: ServerTotals = ServerTotals()
    ) {
        self.connections = connections
        self.refusedConnections = refusedConnections
        self.waitingBytes = waitingBytes
        self.requestBytes = requestBytes
        self.idleTime = idleTime
        self.turnTime = turnTime
        self.totals = totals
    }
}

/// The limits on what all users together may use of the server; unlimited by default.
///
/// A quarter of each is reserved for users who have little, and a quarter of that for root and for users who have caches, so that one user
/// who uses everything permitted leaves room for others. When the reserve is used up too, the server closes the longest idle connection of
/// the user who has the most.
package struct ServerTotals: Hashable, Sendable {
    /// The number of connections that are served.
    package var connections: Int
    /// The number of further connections that are answered with an error code; beyond it connections are closed without an answer.
    package var refusedConnections: Int
    /// The number of bytes of requests that have not been answered and replies that have not been read.
    package var waitingBytes: Int
    /// The number of caches plus the number of users who have any: each cache is a file, and each user an open folder.
    package var files: Int
    /// The estimated memory of all caches and users. Their files take as much again, and up to twice that before compaction.
    package var storedBytes: Int

    package init(
        connections: Int = .max,
        refusedConnections: Int = .max,
        waitingBytes: Int = .max,
        files: Int = .max,
        storedBytes: Int = .max
    ) {
        self.connections = connections
        self.refusedConnections = refusedConnections
        self.waitingBytes = waitingBytes
        self.files = files
        self.storedBytes = storedBytes
    }

    /// Returns limits that keep a system-wide server from running out of descriptors.
    ///
    /// - Parameter descriptors: The number of descriptors that the process may open (`RLIMIT_NOFILE`, getrlimit(2)).
    package static func machine(descriptors: Int) -> ServerTotals {
        // Reserved for the process itself: its sockets, its event loop, a file that replaces another one.
        let half = max(0, descriptors - 64) / 2
        let refused = min(256, half / 8)
        return ServerTotals(
            connections: min(8192, half - refused),
            refusedConnections: refused,
            waitingBytes: 64 << 20,
            files: half,
            storedBytes: 128 << 20
        )
    }

    /// Returns limits that keep one user's agent, which has two sockets, from running out of descriptors.
    ///
    /// - Parameters:
    ///   - descriptors: The number of descriptors that the process may open (`RLIMIT_NOFILE`, getrlimit(2)).
    ///   - processors: The number of processors. Each has an event loop, which uses three descriptors.
    package static func agent(descriptors: Int, processors: Int) -> ServerTotals {
        let free = max(16, descriptors - 32 - 3 * min(processors, 1024))
        return ServerTotals(connections: free / 2, refusedConnections: min(64, free / 16))
    }
}

/// What all users together currently use of the server. Used only on its event loop.
final class TotalUsage {
    private let totals: ServerTotals
    /// The number of connections that are served.
    var connections = 0
    var refusedConnections = 0
    var waitingBytes = 0
    var files = 0
    var storedBytes = 0

    /// The estimated memory of a user without caches: a folder and the name of the default cache.
    static let costOfUser = 8192

    init(_ totals: ServerTotals) { self.totals = totals }

    /// Returns how much more a user may use: the unreserved remainder, or enough to reach `few`, whichever is more.
    private static func room(of total: Int, used: Int, own: Int, few: Int) -> Int {
        max(total - total / 4 - used, min(total - used, few - own))
    }

    /// Whether one more connection can be served.
    ///
    /// - Parameter isPreferred: Whether the connection belongs to root or a user who has caches, for whom a sixteenth is reserved.
    func hasRoomForConnection(of usage: OwnerUsage, isPreferred: Bool) -> Bool {
        let total = totals.connections - (isPreferred ? 0 : totals.connections / 16)
        return Self.room(of: total, used: connections, own: usage.connections, few: 4) > 0
    }

    var hasRoomForRefusedConnection: Bool { refusedConnections < totals.refusedConnections }

    /// Whether one more user can have a folder. A sixteenth is reserved for root.
    func hasRoomForUser(isRoot: Bool) -> Bool {
        let share = isRoot ? 0 : 1
        return files < totals.files - share * (totals.files / 16)
            && storedBytes + Self.costOfUser <= totals.storedBytes - share * (totals.storedBytes / 16)
    }

    /// Whether the waiting bytes are within the limit.
    func mayWait(own: Int) -> Bool { Self.room(of: totals.waitingBytes, used: waitingBytes, own: own, few: 16 << 10) >= 0 }

    /// Returns the limits of a store of this size that keep its owner's stores, and those of all users, within their limits.
    func limits(within limits: StoreLimits, caches: Int, bytes: Int, of usage: OwnerUsage) -> StoreLimits {
        let more = Self.room(of: totals.files, used: files, own: usage.caches, few: 2)
        let moreBytes = Self.room(of: totals.storedBytes, used: storedBytes, own: usage.storedBytes, few: 64 << 10)
        return StoreLimits(
            caches: caches + min(limits.caches - usage.caches, more),
            bytes: bytes + min(limits.bytes - usage.storedBytes, moreBytes)
        )
    }
}

/// The usage that is counted together against the limits: a user's own, and that of the user's subordinate user numbers (subuid(5)).
///
/// One person with a range of subordinate numbers can be 65,536 users. Used only on the server's event loop.
final class OwnerUsage {
    /// The user whose limits apply, as returned by ``KCMServer/Options/owner``.
    let owner: UInt32
    /// Open connections, refused ones included.
    var connections = 0
    /// The connections among them that are served.
    var grantedConnections = 0
    /// The bytes of requests that have not been answered and replies that have not been read.
    var waitingBytes = 0
    /// The number of users who have an account.
    var accounts = 0
    var caches = 0
    /// The memory of all caches, as estimated by the store.
    var storedBytes = 0

    init(owner: UInt32) { self.owner = owner }

    var isEmpty: Bool { connections == 0 && accounts == 0 }
}

/// What the connections of one user currently use. Used only on the server's event loop.
final class UserConnections {
    let user: UInt32
    private(set) var usage: OwnerUsage
    private(set) var count = 0
    private var grantedCount = 0
    private var waitingBytes = 0

    init(user: UInt32, usage: OwnerUsage) {
        self.user = user
        self.usage = usage
    }

    func countConnection(isGranted: Bool, _ change: Int) {
        count += change
        usage.connections += change
        guard isGranted else { return }
        grantedCount += change
        usage.grantedConnections += change
    }

    func countWaiting(_ change: Int) {
        waitingBytes += change
        usage.waitingBytes += change
    }

    /// Counts the connections for another owner.
    func move(to other: OwnerUsage) {
        for (usage, sign) in [(usage, -1), (other, 1)] {
            usage.connections += sign * count
            usage.grantedConnections += sign * grantedCount
            usage.waitingBytes += sign * waitingBytes
        }
        usage = other
    }
}
