package import NIOCore
internal import Synchronization

/// Runs a task on an event loop, because the switches of threads would cost more than a request or a token. Actors with their own threads,
/// such as those of the realms, stay on them.
package final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Chooses an event loop of a group for each call: the first one with the fewest calls in progress.
///
/// Calls that follow each other then run on one event loop, where the connection of the previous one is. Concurrent calls use all of them.
package final class EventLoopChoice: Sendable {
    private let executors: [EventLoopTaskExecutor]
    private let calls: Mutex<[Int]>

    package init(_ group: any EventLoopGroup) {
        let eventLoops = Array(group.makeIterator())
        executors = eventLoops.map(EventLoopTaskExecutor.init)
        calls = Mutex(Array(repeating: 0, count: eventLoops.count))
    }

    /// Runs a closure with the executor of the chosen event loop, on which the call counts as long as the closure runs.
    package func withExecutor<Value: Sendable>(_ body: (EventLoopTaskExecutor) async throws -> Value) async rethrows -> Value {
        let position = calls.withLock { calls in
            let position = calls.indices.min { calls[$0] < calls[$1] } ?? 0
            calls[position] += 1
            return position
        }
        defer { calls.withLock { $0[position] -= 1 } }
        return try await body(executors[position])
    }
}
