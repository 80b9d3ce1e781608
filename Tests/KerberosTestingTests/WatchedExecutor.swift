import Dispatch
import Foundation
import Synchronization

/// Runs a task, and checks whether a resource is free each time that the task becomes ready to run.
final class WatchedExecutor: TaskExecutor {
    private struct State {
        /// How often the task suspended or finished.
        var stops = 0
        /// The result of each check.
        var wasFree: [Bool] = []
    }

    private let queue = DispatchQueue(label: "watched executor")
    private let state = Mutex(State())
    private let lookAt: @Sendable () -> Void

    /// - Parameter lookAt: Uses the resource, and does not return while it is locked. It runs on a separate thread.
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
        // The time limit is reached only if the resource is never free.
        let isFree = looked.wait(timeout: .now() + .seconds(60)) == .success
        state.withLock { $0.wasFree.append(isFree) }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.state.withLock { $0.stops += 1 }
        }
    }
}
