internal import NIOCore

/// Has the connections answer their requests, one at a time, alternating between users. Used only on the server's event loop.
final class Turns {
    private var waiting = TurnQueue<ConnectionHandler>()
    /// Whether a call of ``takeTurns(on:)`` is scheduled.
    private var areDue = false
    /// How long requests are answered before the event loop polls its sockets again.
    private let time: TimeAmount
    /// The number of requests that were answered.
    private(set) var answered = 0

    init(time: Duration) { self.time = TimeAmount(time) }

    /// Whether no connection waits for its turn.
    var isEmpty: Bool { waiting.isEmpty }

    /// Forgets the connections that wait for their turn.
    func removeAll() { waiting = TurnQueue() }

    /// Counts a request that is answered.
    func countAnswer() { answered += 1 }

    /// Queues a connection to have its next request answered when it is its turn.
    func queue(_ connection: ConnectionHandler, on loop: any EventLoop) {
        waiting.append(connection, of: connection.client.user.usage.owner)
        guard !areDue else { return }
        areDue = true
        // Runs after the input that the sockets delivered at the same time.
        loop.assumeIsolated().execute { self.takeTurns(on: loop) }
    }

    /// Answers one request of each connection, alternating between users, until the turn time is over.
    ///
    /// A long reply makes its connection queue again from within. ``areDue`` stays set meanwhile, so that there is never a second task
    /// that would, together with this one, keep the event loop from polling its sockets.
    private func takeTurns(on loop: any EventLoop) {
        let end = NIODeadline.now() + time
        repeat {
            guard let connection = waiting.next() else { return areDue = false }
            if connection.answerNext() { waiting.append(connection, of: connection.client.user.usage.owner) }
        } while .now() < end
        guard !waiting.isEmpty else { return areDue = false }
        // An event loop that always has a task to run never polls its sockets; it does before a task with a later deadline. The deadline
        // must still be in the future when the loop looks at it, even if the machine is slow or busy. (200 µs were too short in a build for
        // the thread sanitizer.)
        loop.assumeIsolated().scheduleTask(in: .milliseconds(1)) { self.takeTurns(on: loop) }
    }
}

/// The connections with waiting requests in the order of their turns. Users alternate, and so do the connections of each user.
///
/// So however many requests a client sends ahead, over however many connections, another user's request waits for only one of them.
struct TurnQueue<Connection> {
    private var users = CircularBuffer<UInt32>()
    private var connections: [UInt32: CircularBuffer<Connection>] = [:]

    var isEmpty: Bool { users.isEmpty }

    /// Appends a connection after the others of its user, and its user after the other users if the user has none waiting.
    mutating func append(_ connection: Connection, of user: UInt32) {
        if connections[user] == nil { users.append(user) }
        connections[user, default: CircularBuffer()].append(connection)
    }

    /// Removes and returns the connection whose turn it is; nil if none is waiting.
    mutating func next() -> Connection? {
        guard let user = users.popFirst(), let connection = connections[user]?.popFirst() else { return nil }
        if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
        return connection
    }
}
