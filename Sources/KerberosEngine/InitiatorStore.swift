internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// The service tickets that are ready to make tokens, each asked for once however many tasks wait for it.
final class InitiatorStore: Sendable {
    struct Key: Hashable {
        let realm: String
        let principal: String?
        let service: String
    }

    struct Entry {
        let credential: InitiatorCredential
        /// When the client proved itself: another sign-in, another identity.
        let authenticated: Date
        /// When the session was last seen in its cache.
        var checked: Date
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var requests: [Key: Task<InitiatorCredential, any Error>] = [:]
    }

    private let state = Mutex(State())

    /// Another process may sign out: how long a session that was seen counts as still there.
    static let recheckInterval: Double = 2
    /// More services than a user ever needs at once; beyond it the one that was checked longest ago goes.
    private static let limit = 1024

    /// A credential that can be used without looking at anything else.
    func fresh(_ key: Key, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], abs(now.timeIntervalSince(entry.checked)) < Self.recheckInterval else { return nil }
            return entry.credential.times.isUsable(at: now) ? entry.credential : nil
        }
    }

    /// A credential that is still good for a session that was just seen.
    func known(_ key: Key, client: Principal, authenticated: Date, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.credential.client == client, entry.authenticated == authenticated,
                entry.credential.times.isUsable(at: now)
            else { return nil }
            state.entries[key]?.checked = now
            return entry.credential
        }
    }

    func insert(_ entry: Entry, for key: Key) {
        state.withLock { state in
            state.entries[key] = entry
            guard state.entries.count > Self.limit else { return }
            if let oldest = state.entries.min(by: { $0.value.checked < $1.value.checked }) { state.entries[oldest.key] = nil }
        }
    }

    /// Forgets what was made, after a sign-in, a sign-out or a switch.
    func removeAll() {
        state.withLock { $0.entries.removeAll() }
    }

    /// Runs a request for a credential, or joins the one that is under way.
    func single(
        _ key: Key,
        _ request: @escaping @Sendable () async throws(AuthorizationError) -> InitiatorCredential
    ) async throws(AuthorizationError) -> InitiatorCredential {
        let task = state.withLock { state in
            if let task = state.requests[key] { return task }
            let task = Task {
                defer { self.state.withLock { $0.requests[key] = nil } }
                return try await request()
            }
            state.requests[key] = task
            return task
        }
        // A waiter that is canceled must not end the request for the others: the task is unstructured, the deadline bounds it.
        switch await task.result {
        case .success(let credential): return credential
        case .failure(let error as AuthorizationError): throw error
        case .failure(let error): throw AuthorizationError(.failed, "\(error)", cause: error)
        }
    }
}

extension TicketTimes {
    /// Whether there is time left to use it: a tenth of its life, at most half a minute.
    func isUsable(at date: Date) -> Bool {
        let margin = min(30, expires.timeIntervalSince(starts) / 10)
        return expires.timeIntervalSince(date) > margin
    }
}
