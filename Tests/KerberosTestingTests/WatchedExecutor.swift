import Dispatch
import Foundation
import Synchronization

/// Runs a task, and sees each time that it becomes ready whether something is free meanwhile.
final class WatchedExecutor: TaskExecutor {
    private struct State {
        /// How often the task came to a stop.
        var stops = 0
        /// For each time that it became ready.
        var wasFree: [Bool] = []
    }

    private let queue = DispatchQueue(label: "watched executor")
    private let state = Mutex(State())
    private let lookAt: @Sendable () -> Void

    /// - Parameter lookAt: Does not return while what is to be free is held. It runs on a thread of its own.
    init(_ lookAt: @escaping @Sendable () -> Void) { self.lookAt = lookAt }

    var stops: Int { state.withLock { $0.stops } }
    var wasFree: [Bool] { state.withLock { $0.wasFree } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let looked = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [lookAt] in
            lookAt()
            looked.signal()
        }
        // A minute is for who never gets it.
        let isFree = looked.wait(timeout: .now() + .seconds(60)) == .success
        state.withLock { $0.wasFree.append(isFree) }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.state.withLock { $0.stops += 1 }
        }
    }
}
