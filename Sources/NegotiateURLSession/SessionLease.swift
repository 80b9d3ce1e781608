import HTTPNegotiate
import Synchronization

/// The sole use of a session, and thereby of its one connection, for a whole exchange. It ends when the last reference goes.
///
/// The legs of an exchange go over the same connection unless the server closes it between them; URLSession then makes another without
/// telling, and a server that keeps its state with the connection refuses the next leg.
final class SessionLease: NegotiatedConnection {
    let session: OpenSession
    /// Nil for a session that is used once.
    let identity: ConnectionIdentity?
    private let store: SessionStore
    private let isReusable = Mutex(false)

    init(session: OpenSession, identity: ConnectionIdentity?, store: SessionStore) {
        self.session = session
        self.identity = identity
        self.store = store
    }

    deinit {
        store.release(session, identity: isReusable.withLock { $0 } ? identity : nil)
    }

    /// Whether the server authenticated the connection makes no difference here: every request gets a ticket.
    func keep(isAuthenticated: Bool) {
        isReusable.withLock { $0 = true }
    }
}
