/// One user's caches and connections. On the server's event loop alone.
final class UserAccount {
    private(set) var store: CredentialStore
    private let options: KCMServer.Options
    var connections = 0
    /// The bytes of all connections that wait for the rest of their request.
    var waitingBytes = 0

    init(user: UInt32, options: KCMServer.Options) {
        store = CredentialStore(user: user, limits: options.storeLimits)
        self.options = options
    }

    /// Carries out a request: decides, writes, applies, tells the observer. Nil where the connection is to be closed.
    func reply(to frame: [UInt8], connection: inout ConnectionState) -> Reply? {
        do {
            let request = try Request(frame)
            var state = connection
            let decision = store.decide(request, connection: &state, now: options.now())
            for change in decision.changes { store.apply(change) }
            connection = state
            tell(of: decision.changes)
            return decision.reply
        } catch {
            return error.replyCode.map(Reply.init(code:))
        }
    }

    private func tell(of changes: [StoreChange]) {
        guard let observer = options.observer else { return }
        for change in changes {
            for event in change.events(of: store.user) { observer(event) }
        }
    }

    var counts: ServerCounts {
        ServerCounts(
            user: store.user,
            connections: connections,
            caches: store.caches.count,
            tickets: store.caches.reduce(0) { $0 + $1.credentials.count { !$0.server.isConfiguration } },
            bytes: store.cost
        )
    }
}
