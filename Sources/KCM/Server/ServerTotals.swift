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
