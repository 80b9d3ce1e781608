/// Why a conversation with a message bus fails.
enum DBusError: Error, Hashable {
    /// Bytes are not what the protocol allows, or more than is taken.
    case malformed
    /// The bus does not know this user.
    case refused
    /// The connection is gone.
    case closed
    /// There was no answer in time.
    case timedOut
    /// The other side answered with an error of this name.
    case failed(name: String)
}
