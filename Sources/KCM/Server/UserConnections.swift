/// What the connections of one user take, refused ones included. On the server's event loop alone.
final class UserConnections {
    let user: UInt32
    var count = 0
    /// The bytes that wait for the rest of their request.
    var waitingBytes = 0

    init(user: UInt32) { self.user = user }
}
