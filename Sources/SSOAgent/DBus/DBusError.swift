/// An error of a bus connection.
enum DBusError: Error, Hashable {
    /// The received bytes violate the protocol or exceed a limit.
    case malformed
    /// The bus rejected the user.
    case refused
    /// The connection is closed.
    case closed
    /// No reply came in time.
    case timedOut
    /// The reply is an error of this name.
    case failed(name: String)
}
