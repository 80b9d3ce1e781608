internal import Synchronization

/// What the bus has told since somebody last looked.
final class LoginInbox: Sendable {
    /// A session was told to lock itself, by somebody who says to be logind.
    struct LockRequest: Hashable, Sendable {
        var sender: String
        var session: String
    }

    private struct Contents {
        var owner: String?
        var requests: Set<LockRequest> = []
    }

    /// Yields when there is something to look at; ends with the connection.
    let rings: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation
    private let contents = Mutex(Contents())

    init() { (rings, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func ring() { bell.yield() }

    func close() { bell.finish() }

    /// Takes a signal. Any user of the bus can send us one: once it is known who logind is, those of others are not even looked at.
    func put(_ message: DBusMessage) {
        guard let sender = message.sender else { return }
        let matters = contents.withLock { contents in
            guard contents.owner == nil || sender == contents.owner || sender == "org.freedesktop.DBus" else { return false }
            let isRequest = message.interface == Logind.interface("Session") && message.member == "Lock"
            if isRequest, let path = message.path, contents.requests.count < 256 {
                contents.requests.insert(LockRequest(sender: sender, session: path))
            }
            return true
        }
        if matters { ring() }
    }

    /// The sessions that logind has told to lock themselves.
    ///
    /// - Parameter owner: logind's connection; nil where none runs.
    func takeRequests(of owner: String?) -> Set<String> {
        contents.withLock { contents in
            defer { contents = Contents(owner: owner) }
            return Set(contents.requests.filter { $0.sender == owner }.map(\.session))
        }
    }
}
