/// How much all users together may take of the server; without a limit where nothing is said.
///
/// A quarter of each is kept for users who have little: whoever takes what they can, as many users, leaves the others something.
package struct ServerTotals: Hashable, Sendable {
    /// Connections that are served.
    package var connections: Int
    /// Connections beyond those that are told of the limit; further ones are closed unheard.
    package var refusedConnections: Int
    /// The bytes of requests that have not arrived as a whole, and of replies that have not been read.
    package var waitingBytes: Int
    /// Caches and users who have any: each of them is an open file.
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
}
