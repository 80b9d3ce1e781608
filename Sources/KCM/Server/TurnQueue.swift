internal import NIOCore

/// The connections that have requests to be answered, in the order of their turns: users take turns, and so do the connections of a user.
///
/// So however many requests a client sends ahead, and over however many connections, another user's request waits for one of them.
struct TurnQueue<Connection> {
    private var users = CircularBuffer<UInt32>()
    private var connections: [UInt32: CircularBuffer<Connection>] = [:]

    var isEmpty: Bool { users.isEmpty }

    /// Puts a connection behind the others of its user, and the user behind the other users.
    mutating func append(_ connection: Connection, of user: UInt32) {
        if connections[user] == nil { users.append(user) }
        connections[user, default: CircularBuffer()].append(connection)
    }

    /// Takes out the connection whose turn it is; nil where none waits.
    mutating func next() -> Connection? {
        guard let user = users.popFirst(), let connection = connections[user]?.popFirst() else { return nil }
        if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
        return connection
    }
}
