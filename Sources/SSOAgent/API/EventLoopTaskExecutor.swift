internal import NIOCore

/// Runs a connection's task on the connection's own event loop: a request then costs no change of threads, which would cost more than
/// its token. Actors with threads of their own, such as the realms', stay on those.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
