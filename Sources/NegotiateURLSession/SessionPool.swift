import FoundationNetworking
import HTTPNegotiate
import Synchronization

/// The URLSessions of one ``NegotiatingURLSession``, which keep connections of different identities apart.
///
/// Because a URLSession gives any idle connection to any request, each class of requests has its own sessions. An exchange has a session
/// with a single connection, so that exchanges do not wait for each other.
final class SessionPool: Sendable {
    /// The maximum number of idle sessions whose connections carried tickets.
    static let maximumIdleSessions = 16

    private struct Idle {
        let session: OpenSession
        let identity: ConnectionIdentity
    }

    private enum Phase {
        case open, finishing, closed
    }

    private struct State {
        var phase = Phase.open
        var calls = 0
        var shared: OpenSession?
        /// The idle sessions, least recently used first.
        var idle: [Idle] = []
        var leased: [ObjectIdentifier: OpenSession] = [:]
    }

    private let state = Mutex(State())
    private let shared: URLSessionConfiguration
    private let oneConnection: URLSessionConfiguration

    init(template: URLSessionConfiguration) {
        shared = template.duplicate
        // A cache would return one principal's responses to another; stored credentials would be sent without a challenge.
        shared.urlCache = nil
        shared.requestCachePolicy = .reloadIgnoringLocalCacheData
        shared.urlCredentialStorage = nil
        shared.httpAdditionalHeaders = nil
        oneConnection = shared.duplicate
        oneConnection.httpMaximumConnectionsPerHost = 1
    }

    /// Counts a new call. Throws `shutDown` if no further calls are accepted.
    func beginCall() throws(HTTPTransportError) {
        let isOpen = state.withLock { state in
            if state.phase == .open { state.calls += 1 }
            return state.phase == .open
        }
        guard isOpen else { throw .shutDown }
    }

    func endCall() {
        let isLast = state.withLock { state in
            state.calls -= 1
            return state.calls == 0 && state.phase == .finishing
        }
        if isLast { close() }
    }

    /// Returns the session for requests without credentials, to any origin. Throws `shutDown`.
    func sharedSession() throws(HTTPTransportError) -> OpenSession {
        try withState { state in
            let session = state.shared ?? OpenSession(configuration: shared)
            state.shared = session
            return session
        }
    }

    /// Returns a lease for one request with the user's own credentials, which are opaque to this client. Throws `shutDown`.
    func singleUseLease() throws(HTTPTransportError) -> SessionLease {
        let session = try withState { state in
            let session = OpenSession(configuration: oneConnection)
            state.leased[ObjectIdentifier(session)] = session
            return session
        }
        return SessionLease(session: session, identity: nil, store: self)
    }

    /// Returns a lease for the requests with tickets of one exchange. Throws `shutDown`.
    func lease(for identity: ConnectionIdentity) throws(HTTPTransportError) -> SessionLease {
        let session = try withState { state in
            let session: OpenSession
            if let position = state.idle.lastIndex(where: { $0.identity == identity }) {
                session = state.idle.remove(at: position).session
            } else {
                session = OpenSession(configuration: oneConnection)
            }
            state.leased[ObjectIdentifier(session)] = session
            return session
        }
        return SessionLease(session: session, identity: identity, store: self)
    }

    /// Ends a lease.
    ///
    /// - Parameter identity: The identity for which the session is kept; nil to close it.
    func release(_ session: OpenSession, identity: ConnectionIdentity?) {
        let surplus: OpenSession? = state.withLock { state in
            // After `close()` the session is no longer in the list.
            guard state.leased.removeValue(forKey: ObjectIdentifier(session)) != nil else { return nil }
            guard let identity else { return session }
            state.idle.append(Idle(session: session, identity: identity))
            return state.idle.count > SessionPool.maximumIdleSessions ? state.idle.removeFirst().session : nil
        }
        surplus?.invalidate()
    }

    /// Accepts no further calls, and closes all sessions when the last call has ended.
    func finish() {
        let isIdle = state.withLock { state in
            if state.phase == .open { state.phase = .finishing }
            return state.calls == 0
        }
        if isIdle { close() }
    }

    /// Closes all sessions; a second call has no effect.
    func close() {
        let sessions = state.withLock { state in
            let sessions = [state.shared].compactMap(\.self) + state.idle.map(\.session) + Array(state.leased.values)
            (state.phase, state.shared, state.idle, state.leased) = (.closed, nil, [], [:])
            return sessions
        }
        for session in sessions { session.invalidate() }
    }

    private func withState<Value: Sendable>(_ body: (inout State) -> Value) throws(HTTPTransportError) -> Value {
        let value: Value? = state.withLock { $0.phase == .closed ? nil : body(&$0) }
        guard let value else { throw .shutDown }
        return value
    }
}

/// An exclusive lease of a session, and so of its single connection, for one exchange. It ends when the last reference is released.
///
/// The legs of an exchange use the same connection unless the server closes it between them. URLSession then silently opens another one,
/// and a server that stores its state with the connection refuses the next leg.
final class SessionLease: NegotiatedConnection {
    let session: OpenSession
    /// The identity; nil for a session that is used once.
    let identity: ConnectionIdentity?
    private let store: SessionPool
    private let isReusable = Mutex(false)

    init(session: OpenSession, identity: ConnectionIdentity?, store: SessionPool) {
        self.session = session
        self.identity = identity
        self.store = store
    }

    deinit {
        store.release(session, identity: isReusable.withLock { $0 } ? identity : nil)
    }

    /// Keeps the session for reuse. Whether the server authenticated the connection is ignored, because every request gets a ticket.
    func keep(isAuthenticated: Bool) {
        isReusable.withLock { $0 = true }
    }
}
