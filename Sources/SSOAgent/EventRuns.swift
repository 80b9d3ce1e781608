/// Has the administrator's program run for each event, a few at a time, and reports a failure of it once.
///
/// Isolation: events come from any thread; the rest belongs to the task of ``run(_:)``.
struct EventRuns: Sendable {
    private enum Occasion: Sendable {
        case happened(SessionEvent)
        /// A run has ended, with what was wrong with it.
        case ended(fault: String?)
    }

    private let occasions = AsyncStream.makeStream(of: Occasion.self)
    private let journal: Journal

    /// So many runs at once.
    static let limit = 4
    /// So many events wait for a run; of more, the oldest are dropped.
    static let backlog = 64

    init(_ journal: Journal) { self.journal = journal }

    /// Notes an event. From any thread.
    func note(_ event: SessionEvent) { occasions.continuation.yield(.happened(event)) }

    /// Works until the task is canceled; the runs that are under way are canceled with it, and have ended when this returns.
    ///
    /// - Parameter program: Runs the program for an event, and returns what was wrong with it.
    func run(_ program: @escaping @Sendable (SessionEvent) async -> String?) async {
        await withDiscardingTaskGroup { group in
            var (waiting, running, reported): ([SessionEvent], Int, String?) = ([], 0, nil)
            for await occasion in occasions.stream {
                switch occasion {
                case .happened(let event):
                    waiting.append(event)
                    guard waiting.count > Self.backlog else { break }
                    waiting.removeFirst()
                    report("more than \(Self.backlog) events wait for the program of --on-event; the oldest are dropped.", &reported)
                case .ended(let fault):
                    running -= 1
                    if let fault { report(fault, &reported) } else { settle(&reported) }
                }
                while running < Self.limit, !waiting.isEmpty {
                    let event = waiting.removeFirst()
                    running += 1
                    group.addTask { [occasions] in occasions.continuation.yield(.ended(fault: await program(event))) }
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
