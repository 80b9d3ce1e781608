internal import Kerberos
internal import SignOnPolicy
internal import Synchronization

internal import struct Foundation.Date

/// Caches the credentials that create tokens.
final class InitiatorCredentialCache: Sendable {
    struct Key: Hashable {
        let realm: String
        let principal: String?
        let service: String
        /// Part of the key, so that a credential that contains the user's own ticket is used only for plans that delegate.
        var delegation = Delegation.none

        /// Compares names byte by byte, as the KDC does.
        static func == (left: Key, right: Key) -> Bool {
            left.delegation == right.delegation && left.service.isIdentical(to: right.service) && left.realm.isIdentical(to: right.realm)
                && (left.principal ?? "").isIdentical(to: right.principal ?? "") && (left.principal == nil) == (right.principal == nil)
        }
    }

    struct Entry {
        let credential: InitiatorCredential
        /// When the client authenticated. Another sign-in has another time.
        let authenticated: Date
        /// How many seconds the KDC's clock is ahead of this machine's.
        var clockOffset: Double = 0
        /// When the session was last found in its cache.
        var checked: Date

        func isUsable(at now: Date) -> Bool { credential.times.isUsable(at: now.addingTimeInterval(clockOffset)) }
        func isValid(at now: Date) -> Bool { credential.times.expires > now.addingTimeInterval(clockOffset) }
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var generation = 0
    }

    private let state = Mutex(State())

    /// How long a session that was found counts as present, in seconds. Another process may sign out.
    static let recheckInterval: Double = 2
    /// The maximum number of entries, more than a user needs at once. Beyond it, the entry whose check is oldest is removed.
    private static let limit = 1024

    /// A credential that can be used without further checks.
    func fresh(_ key: Key, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], abs(now.timeIntervalSince(entry.checked)) < Self.recheckInterval else { return nil }
            return entry.isUsable(at: now) ? entry.credential : nil
        }
    }

    /// A credential that is usable for a session that was just found.
    func known(_ key: Key, client: Principal, authenticated: Date, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.credential.client == client, entry.authenticated == authenticated,
                entry.isUsable(at: now)
            else { return nil }
            state.entries[key]?.checked = now
            return entry.credential
        }
    }

    /// A credential of the same client that has not expired. Used as a last resort if no KDC answers.
    func held(_ key: Key, client: Principal, now: Date) -> InitiatorCredential? {
        state.withLock { state in
            guard let entry = state.entries[key], entry.credential.client == client, entry.isValid(at: now) else {
                return nil
            }
            return entry.credential
        }
    }

    /// The credential that creates tokens now, whether or not it is still usable.
    func present(_ key: Key) -> InitiatorCredential? { state.withLock { $0.entries[key]?.credential } }

    /// Removes the credentials of one ticket.
    func remove(ticket fingerprint: Int) {
        state.withLock { state in state.entries = state.entries.filter { $0.value.credential.ticketFingerprint != fingerprint } }
    }

    /// How many times all entries were removed.
    var generation: Int { state.withLock { $0.generation } }

    /// Stores a credential, unless all entries were removed since the generation in which its session was looked up.
    func insert(_ entry: Entry, for key: Key, generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            state.entries[key] = entry
            guard state.entries.count > Self.limit else { return }
            if let oldest = state.entries.min(by: { $0.value.checked < $1.value.checked }) { state.entries[oldest.key] = nil }
        }
    }

    /// Removes all entries, after a sign-in, a sign-out or a switch.
    func removeAll() {
        state.withLock { state in
            state.entries.removeAll()
            state.generation += 1
        }
    }
}
