/// How much the clients of one user may take of the server, and those of all.
package struct ServerLimits: Hashable, Sendable {
    /// Connections that are served. libkrb5 has one for each open cache; a process that has leaked a thousand still leaves room.
    package var connections: Int
    /// Connections beyond those that are told of the limit; further ones are closed unheard.
    package var refusedConnections: Int
    /// The bytes of requests that have not been answered and of replies that have not been read, over all connections.
    package var waitingBytes: Int
    /// The length of one request.
    package var requestBytes: Int
    /// A connection without a whole request for so long is closed. libkrb5 connects again, but not while it waits for a password: so this
    /// is five minutes at least, but for tests.
    package var idleTime: Duration
    /// How long requests are answered before the server looks at its sockets again; at least one is.
    package var turnTime: Duration
    /// What all users together may take.
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

/// How much all users together may take of the server; without a limit where nothing is said.
///
/// A quarter of each is kept for users who have little, and of that a quarter for root and for users who have caches: one user who takes
/// all that is granted leaves the others something. When it is taken too, the connection that has been idle longest, of those who hold the
/// most, makes room.
package struct ServerTotals: Hashable, Sendable {
    /// Connections that are served.
    package var connections: Int
    /// Connections beyond those that are told of the limit; further ones are closed unheard.
    package var refusedConnections: Int
    /// The bytes of requests that have not arrived as a whole, and of replies that have not been read.
    package var waitingBytes: Int
    /// Caches and users who have any: each cache is a file, and each user an open folder.
    package var files: Int
    /// The memory of all caches and users, by an estimate. Their files take as much again, and twice that before they are written anew.
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

    /// Limits with which a process does not run out of descriptors.
    ///
    /// - Parameter descriptors: How many it may have open (`RLIMIT_NOFILE`, getrlimit(2)).
    package static func machine(descriptors: Int) -> ServerTotals {
        // The process's own: its sockets, its event loop, a file that takes another's place.
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

    /// Limits with which the agent of one user, whose sockets are two, does not run out of descriptors.
    ///
    /// - Parameters:
    ///   - descriptors: How many it may have open (`RLIMIT_NOFILE`, getrlimit(2)).
    ///   - processors: Each has an event loop, which has three.
    package static func agent(descriptors: Int, processors: Int) -> ServerTotals {
        let free = max(16, descriptors - 32 - 3 * min(processors, 1024))
        return ServerTotals(connections: free / 2, refusedConnections: min(64, free / 16))
    }
}

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

/// What is counted together against the limits: a user's own, and what belongs to the user's subordinate numbers (subuid(5)).
///
/// A person with a range of subordinate numbers can be 65,536 users. On the server's event loop alone.
final class Holding {
    /// Whose it is, by ``KCMServer/Options/owner``.
    let owner: UInt32
    /// Open connections, refused ones included.
    var connections = 0
    /// Of these, the ones that are served.
    var grantedConnections = 0
    /// The bytes of requests that were not answered yet, and of replies that were not read.
    var waitingBytes = 0
    /// Users who have something here.
    var accounts = 0
    var caches = 0
    /// The memory of all caches, by the store's estimate.
    var storedBytes = 0

    init(owner: UInt32) { self.owner = owner }

    var isEmpty: Bool { connections == 0 && accounts == 0 }
}

/// What the connections of one user take. On the server's event loop alone.
final class UserConnections {
    let user: UInt32
    private(set) var holding: Holding
    private(set) var count = 0
    private var grantedCount = 0
    private var waitingBytes = 0

    init(user: UInt32, holding: Holding) {
        self.user = user
        self.holding = holding
    }

    func countConnection(isGranted: Bool, _ change: Int) {
        count += change
        holding.connections += change
        guard isGranted else { return }
        grantedCount += change
        holding.grantedConnections += change
    }

    func countWaiting(_ change: Int) {
        waitingBytes += change
        holding.waitingBytes += change
    }

    /// Counts it all for another owner.
    func move(to other: Holding) {
        for (holding, sign) in [(holding, -1), (other, 1)] {
            holding.connections += sign * count
            holding.grantedConnections += sign * grantedCount
            holding.waitingBytes += sign * waitingBytes
        }
        holding = other
    }
}
