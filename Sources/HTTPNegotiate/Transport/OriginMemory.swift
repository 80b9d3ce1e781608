internal import Synchronization

/// What was learned of servers while requests were answered: hints that save a round trip, never a reason to trust one.
package final class OriginMemory: Sendable {
    /// What is known of an origin that has asked for a ticket and taken it.
    struct Entry: Sendable, Hashable {
        /// Of the certificate that it showed last.
        var channelBindings: [UInt8]?
        /// Whether it speaks HTTP/2.
        var isMultiplexed: Bool
        /// Whether it authenticates connections (`Persistent-Auth: true`).
        var isConnectionBound: Bool
        /// Whether it asked for a ticket when a request last came without one.
        var askedLast = true
    }

    /// More servers than a process usually speaks with; beyond it everything is learned anew.
    private static let limit = 1024

    private let entries = Mutex<[Origin: Entry]>([:])

    package init() {}

    func entry(for origin: Origin) -> Entry? { entries.withLock { $0[origin] } }

    func learn(_ entry: Entry, of origin: Origin) {
        entries.withLock { entries in
            if entries.count >= Self.limit, entries[origin] == nil { entries.removeAll() }
            entries[origin] = entry
        }
    }

    /// A request without a ticket was answered: the next one may well be too.
    func noteUnasked(_ origin: Origin) { entries.withLock { $0[origin]?.askedLast = false } }

    func forget(_ origin: Origin) { entries.withLock { $0[origin] = nil } }
}
