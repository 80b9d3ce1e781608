internal import Dispatch
internal import Foundation
internal import Synchronization

/// Turns SIGINT, SIGTERM and SIGHUP into values for the time a body runs, so that the body can end in order.
///
/// By a handler and a pipe: a signal that comes as soon as the body has begun is kept. A signal source of libdispatch is registered on
/// another thread some time after it was activated, and what comes before is lost.
struct SignalWait: Sendable {
    private let signals: AsyncStream<Int32>

    /// The end of the pipe that the handler writes to.
    private static let writeEnd = Atomic<Int32>(-1)

    /// Runs a body. One at a time in a process.
    static func untilSignal<Value>(_ body: (SignalWait) async throws -> Value) async throws -> Value {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CommandFailure(.failed, "no pipe can be made: \(String(cString: strerror(errno))).") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: DispatchQueue(label: "ksso.signals"))
        source.setEventHandler { [end = ends[0]] in
            var number: UInt8 = 0
            while read(end, &number, 1) == 1 { continuation.yield(Int32(number)) }
        }
        // The write end stays open: a handler in another thread may still be about to write.
        source.setCancelHandler { [end = ends[0]] in close(end) }
        source.activate()
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        let previous = [SIGINT, SIGTERM, SIGHUP].compactMap { number in watch(number).map { (number, $0) } }
        defer {
            for (number, action) in previous {
                var action = action
                sigaction(number, &action, nil)
            }
            source.cancel()
        }
        return try await body(SignalWait(signals: signals))
    }

    /// The action before; nil where the signal is ignored and stays so, as under nohup.
    private static func watch(_ number: Int32) -> sigaction? {
        var (action, previous) = (sigaction(), sigaction())
        guard sigaction(number, nil, &previous) == 0, unsafeBitCast(previous.__sigaction_handler.sa_handler, to: Int.self) != 1 else {
            return nil
        }
        action.sa_flags = SA_RESTART
        action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            let saved = errno
            _ = write(SignalWait.writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        sigaction(number, &action, &previous)
        return previous
    }

    /// Waits for a signal.
    func next() async -> Int32 {
        for await number in signals { return number }
        return 0
    }
}
