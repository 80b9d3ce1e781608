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
