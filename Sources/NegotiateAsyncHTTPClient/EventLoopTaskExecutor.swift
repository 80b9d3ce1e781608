import NIOCore

/// Runs a call where its connections run, so that none of its steps waits for another thread to wake.
///
/// What runs there is short: the exchange, and a token, which takes no longer than a TLS handshake's part of it. What waits for a KDC, a
/// person or a file is behind an await, on threads of its own.
final class EventLoopTaskExecutor: TaskExecutor {
    let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The executor must stay until the job has run: the closure holds it.
        eventLoop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
