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
