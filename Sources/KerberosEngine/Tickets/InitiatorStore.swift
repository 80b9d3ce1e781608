internal import HTTPNegotiate
internal import Kerberos
internal import Synchronization

internal import struct Foundation.Date

/// The service tickets that are ready to make tokens.
final class InitiatorStore: Sendable {
    struct Key: Hashable {
        let realm: String
        let principal: String?
        let service: String
        /// A credential with the user's own ticket in it is for no plan that does not ask for it.
        var delegation = Delegation.none
    }

    struct Entry {
        let credential: InitiatorCredential
        /// When the client proved itself: another sign-in, another identity.
        let authenticated: Date
        /// By how many seconds the KDC's clock is ahead of this machine's.
        var clockOffset: Double = 0
        /// When the session was last seen in its cache.
        var checked: Date

        func isUsable(at now: Date) -> Bool { credential.times.isUsable(at: now.addingTimeInterval(clockOffset)) }
        func holds(at now: Date) -> Bool { credential.times.expires > now.addingTimeInterval(clockOffset) }
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var generation = 0
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
            return entry.isUsable(at: now) ? entry.credential : nil
        }
    }

    /// A credential that is still good for a session that was just seen.
    func known(_ key: Key, client: Principal, authenticated: Date, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.credential.client == client, entry.authenticated == authenticated,
                entry.isUsable(at: now)
            else { return nil }
            state.entries[key]?.checked = now
            return entry.credential
        }
    }

    /// The last resort while no KDC answers: what was made for the same client, as long as it holds.
    func held(_ key: Key, client: Principal, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.credential.client == client, entry.holds(at: now) else {
                return nil
            }
            return entry.credential
        }
    }

    /// What makes tokens now, whether or not it is still good.
    func present(_ key: Key) -> InitiatorCredential? { state.withLock { $0.entries[key]?.credential } }

    /// Forgets what was made from one ticket.
    func remove(ticket fingerprint: Int) {
        state.withLock { state in state.entries = state.entries.filter { $0.value.credential.ticketFingerprint != fingerprint } }
    }

    /// Counts how often everything was forgotten.
    var generation: Int { state.withLock { $0.generation } }

    /// Keeps a credential, unless everything was forgotten since the generation in which its session was looked up.
    func insert(_ entry: Entry, for key: Key, generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.entries[key] = entry
            guard state.entries.count > Self.limit else { return }
            if let oldest = state.entries.min(by: { $0.value.checked < $1.value.checked }) { state.entries[oldest.key] = nil }
        }
    }

    /// Forgets what was made, after a sign-in, a sign-out or a switch.
    func removeAll() {
        state.withLock { state in
            state.entries.removeAll()
            state.generation += 1
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
