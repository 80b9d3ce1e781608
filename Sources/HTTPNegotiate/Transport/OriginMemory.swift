internal import SignOnPolicy
internal import Synchronization

/// What requests have learned about servers: hints that save a round trip or a failure, never a reason to trust a server.
package final class OriginMemory: Sendable {
    /// What is known about an origin that has challenged.
    struct Entry: Sendable, Hashable {
        /// The channel bindings of the origin's last certificate.
        var channelBindings: [UInt8]?
        /// Whether the origin uses HTTP/2.
        var isMultiplexed: Bool
        /// Whether the origin authenticates connections (`Persistent-Auth: true`).
        var isConnectionBound: Bool
        /// Whether the last request without a ticket was challenged.
        var wasChallenged = true
        /// Whether a challenge came after a body that could not be sent again.
        var challengesLate = false
    }

    /// More origins than a process usually contacts; at this number all entries are dropped.
    private static let limit = 1024

    private let entries = Mutex<[Origin: Entry]>([:])

    package init() {}

    func entry(for origin: Origin) -> Entry? { entries.withLock { $0[origin] } }

    func learn(_ entry: Entry, of origin: Origin) {
        entries.withLock { entries in
            if entries.count >= Self.limit, entries[origin] == nil { entries.removeAll() }
            let challengesLate = entry.challengesLate || entries[origin]?.challengesLate == true
            entries[origin] = entry
            entries[origin]?.challengesLate = challengesLate
        }
    }

    /// Records that a challenge came after a body that cannot be sent again.
    func noteLateChallenge(_ origin: Origin, channelBindings: [UInt8]?, isMultiplexed: Bool) {
        var entry = Entry(channelBindings: channelBindings, isMultiplexed: isMultiplexed, isConnectionBound: false)
        entry.challengesLate = true
        learn(entry, of: origin)
    }

    /// Whether a challenge of the origin came after a body that could not be sent again.
    package func challengesLate(_ origin: Origin) -> Bool { entry(for: origin)?.challengesLate == true }

    /// Records that a request without a ticket was not challenged, so that the next one may not be either.
    func noteUnchallenged(_ origin: Origin) { entries.withLock { $0[origin]?.wasChallenged = false } }

    func forget(_ origin: Origin) { entries.withLock { $0[origin] = nil } }
}
