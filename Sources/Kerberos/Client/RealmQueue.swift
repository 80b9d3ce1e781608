internal import Synchronization

/// Runs calls one after another on a worker that can be replaced while a call blocks it.
///
/// The caller of a blocked call stops waiting for it. The calls queued behind it then continue on the new worker, and the blocked call
/// finishes on its own.
final class RealmQueue: Sendable {
    private struct State {
        var worker: RealmWorker
        /// The number of abandoned calls that have not finished.
        var abandonedCalls = 0
        /// Calls that may still be queued.
        var waiting: [ObjectIdentifier: any AnyRealmJob] = [:]
    }

    private let state: Mutex<State>

    /// The maximum number of unfinished abandoned calls: each holds a thread, with an unreachable KDC for half a minute, with a blocked
    /// cache server until that server ends.
    private static let abandonedCallLimit = 4

    init(_ worker: RealmWorker) {
        state = Mutex(State(worker: worker))
    }

    /// Whether so many abandoned calls are unfinished that no other may begin.
    var isBlocked: Bool { state.withLock { $0.abandonedCalls >= Self.abandonedCallLimit } }

    /// Runs later calls on another worker. Calls that were submitted before stay where they are.
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

    /// Continues on a new worker after a call was abandoned while it ran; the new worker takes over the queued calls.
    ///
    /// If the call finishes before it is counted here, the count is briefly below 0.
    func leaveBlockedWorker(for worker: RealmWorker) {
        let jobs = state.withLock { state in
            state.abandonedCalls += 1
            state.worker = worker
            return state.waiting.values.filter { !$0.hasBegun }
        }
        for job in jobs { Task { await self.run(job, on: worker) } }
    }
}
