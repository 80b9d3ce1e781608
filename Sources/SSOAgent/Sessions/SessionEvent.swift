package import SSOAgentClient
internal import Synchronization

package import struct Foundation.Date

/// A change of one principal's ticket in one cache.
package struct SessionEvent: Sendable, Hashable {
    /// The kind of change.
    package enum Kind: String, Sendable {
        /// The principal signed in, with this project or with another program.
        case new
        /// The ticket was renewed or reacquired without a prompt.
        case renewed
        /// The cache is gone, or no longer contains a ticket-granting ticket of the principal.
        case destroyed
        /// The agent could not renew the ticket. Sent once per ticket, however often the agent tries.
        case failed
    }

    package let kind: Kind
    /// The principal of the ticket, including the realm.
    package let principal: String
    package let realm: String
    /// The full name of the cache.
    package let cache: String
    /// When the ticket expires, by this machine's clock; for ``Kind/destroyed`` the last known value.
    package let expires: Date
    /// The end of its renewable life; nil if it is not renewable.
    package let renewUntil: Date?
    /// The reason of the failure; nil for the other kinds.
    package let reason: RefreshOutcome?

    init(_ kind: Kind, _ session: SessionSnapshot, reason: RefreshOutcome? = nil) {
        self.kind = kind
        principal = session.key.principal
        realm = session.realm
        cache = session.key.cache
        expires = session.ticket.expires
        renewUntil = session.ticket.renewUntil
        self.reason = reason
    }

    /// The event as environment variables for a program, without secrets. Values that do not apply are empty.
    package var variables: [String: String] {
        [
            "KSSO_EVENT": kind.rawValue,
            "KSSO_PRINCIPAL": principal,
            "KSSO_REALM": realm,
            "KSSO_CACHE": cache,
            "KSSO_EXPIRES": expires.formatted(.iso8601),
            "KSSO_RENEW_UNTIL": renewUntil?.formatted(.iso8601) ?? "",
            "KSSO_REASON": reason?.rawValue ?? "",
            // For klist and other programs that the program may run.
            "KRB5CCNAME": cache,
        ]
    }
}

/// Delivers each event to all listeners.
package final class EventHub: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<AgentEvent>.Continuation] = [:]
        var next = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// The number of events buffered for a listener that does not read; the oldest are dropped.
    private static let backlog = 64

    package init() {}

    /// The events from now on, until the hub is closed or the stream is dropped.
    package func events() -> AsyncStream<AgentEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: AgentEvent.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
        return stream
    }

    /// Sends an event to all listeners.
    package func send(_ event: AgentEvent) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
    }

    /// Ends every stream, including later ones at once.
    package func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }

    /// The number of listeners.
    package var listenerCount: Int { state.withLock { $0.listeners.count } }
}

/// Runs the administrator's program for each event, a few at a time, and logs each of its failures once.
///
/// Isolation: events come from any thread; all other state belongs to the task of ``run()``.
struct EventRuns: Sendable {
    private enum Occasion: Sendable {
        case happened(SessionEvent)
        /// A run has ended; `fault` describes its failure.
        case ended(fault: String?)
    }

    private let occasions = AsyncStream.makeStream(of: Occasion.self)
    private let program: @Sendable (SessionEvent) async -> String?
    private let journal: Journal

    /// The maximum number of concurrent runs.
    static let limit = 4
    /// The maximum number of waiting events; if there are more, the oldest are dropped.
    static let backlog = 64

    /// - Parameters:
    ///   - program: Runs the program for an event, and returns a description of its failure, or nil.
    ///   - journal: Receives the failures.
    init(_ program: @escaping @Sendable (SessionEvent) async -> String?, _ journal: Journal) {
        self.program = program
        self.journal = journal
    }

    /// Adds an event. Can be called from any thread.
    func note(_ event: SessionEvent) { occasions.continuation.yield(.happened(event)) }

    /// Runs the program until the task is canceled. This also cancels the runs in progress and waits for them to end.
    func run() async {
        await withDiscardingTaskGroup { group in
            var (waiting, running, reported): ([SessionEvent], Int, String?) = ([], 0, nil)
            for await occasion in occasions.stream {
                switch occasion {
                case .happened(let event):
                    waiting.append(event)
                    guard waiting.count > Self.backlog else { break }
                    waiting.removeFirst()
                    report("more than \(Self.backlog) events are waiting for the program of --on-event; the oldest are dropped.", &reported)
                case .ended(let fault):
                    running -= 1
                    if let fault { report(fault, &reported) } else { settle(&reported) }
                }
                while running < Self.limit, !waiting.isEmpty {
                    let event = waiting.removeFirst()
                    running += 1
                    group.addTask { [occasions, program] in occasions.continuation.yield(.ended(fault: await program(event))) }
                }
            }
            group.cancelAll()
        }
    }

    private func report(_ fault: String, _ reported: inout String?) {
        guard reported != fault else { return }
        reported = fault
        journal.failure(fault)
    }

    private func settle(_ reported: inout String?) {
        guard let fault = reported else { return }
        reported = nil
        journal.settle(fault, "the program of --on-event has succeeded again.")
    }
}
