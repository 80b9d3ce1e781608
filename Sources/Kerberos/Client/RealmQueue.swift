internal import Synchronization

/// Runs calls one after another on a worker, and counts those whose callers stopped waiting although they have begun.
final class RealmQueue: Sendable {
    private struct State {
        var worker: RealmWorker
        /// The number of abandoned calls that have not finished.
        var abandonedCalls = 0
        /// Calls that may still be queued.
        var waiting: [ObjectIdentifier: any AnyRealmJob] = [:]
    }

    /// The maximum number of unfinished abandoned calls, each of which holds a thread.
    private let abandonedCallLimit: Int
    private let state: Mutex<State>

    init(_ worker: RealmWorker, abandonedCallLimit: Int) {
        self.abandonedCallLimit = abandonedCallLimit
        state = Mutex(State(worker: worker))
    }

    /// Whether so many abandoned calls are unfinished that no other may begin.
    var isBlocked: Bool { state.withLock { $0.abandonedCalls >= abandonedCallLimit } }

    /// Runs later calls on another worker. Calls that were submitted before run on the former one.
    func setWorker(_ worker: RealmWorker) { state.withLock { $0.worker = worker } }

    /// Queues a call.
    func submit(_ job: any AnyRealmJob) {
        let worker = state.withLock { state in
            state.waiting[ObjectIdentifier(job)] = job
            return state.worker
        }
        Task { await self.run(job, on: worker) }
    }

    private func run(_ job: any AnyRealmJob, on worker: RealmWorker) async {
        let isAwaited = await job.run(on: worker)
        state.withLock { state in
            state.waiting[ObjectIdentifier(job)] = nil
            if !isAwaited { state.abandonedCalls -= 1 }
        }
    }

    /// Counts a call that was abandoned while it ran. The worker stays, so that queued calls run after it.
    ///
    /// If the call finishes before it is counted here, the count is briefly below 0.
    func countAbandonedCall() { state.withLock { $0.abandonedCalls += 1 } }

    /// Counts a call that was abandoned while it ran. Later calls, and those that are queued, run on a new worker.
    func replaceBlockedWorker(with worker: RealmWorker) {
        let jobs = state.withLock { state in
            state.abandonedCalls += 1
            state.worker = worker
            return state.waiting.values.filter { !$0.hasBegun }
        }
        for job in jobs { Task { await self.run(job, on: worker) } }
    }
}
