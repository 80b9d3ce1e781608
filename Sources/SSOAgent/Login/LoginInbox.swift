internal import Synchronization

/// What the bus has told since somebody last looked.
final class LoginInbox: Sendable {
    /// A session was told to lock itself, by somebody who says to be logind.
    struct LockRequest: Hashable, Sendable {
        var sender: String
        var session: String
    }

    /// Yields when there is something to look at; ends with the connection.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let requests = Mutex<Set<LockRequest>>([])

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { bell.yield() }

    func close() { bell.finish() }

    /// Any user of the bus can send us a signal: what it is worth is judged by its sender, later.
    func put(_ message: DBusMessage) {
        if message.interface == Logind.interface("Session"), message.member == "Lock", let sender = message.sender, let path = message.path
        {
            requests.withLock { requests in
                if requests.count < 256 { requests.insert(LockRequest(sender: sender, session: path)) }
            }
        }
        ring()
    }

    /// The sessions that a sender has told to lock themselves.
    func takeRequests(of sender: String) -> Set<String> {
        requests.withLock { requests in
            defer { requests = [] }
            return Set(requests.filter { $0.sender == sender }.map(\.session))
        }
    }
}
