internal import Dispatch
internal import Foundation
internal import Synchronization

/// Turns SIGINT, SIGTERM and SIGHUP into values for a body, so that the body can end in order.
///
/// The handlers stay when the body has ended, because a second signal must not kill the process before it exits with its own status.
///
/// It uses a signal handler and a pipe, so that a signal received right after the body starts is not lost. A libdispatch signal source is
/// registered on another thread some time after its activation, and earlier signals are lost.
package struct SignalWait: Sendable {
    private let signals: AsyncStream<Int32>

    /// The pipe end that the handler writes to.
    private static let writeEnd = Atomic<Int32>(-1)

    /// Runs a body. Only one can run at a time in a process.
    package static func untilSignal<Value>(_ body: (SignalWait) async throws -> Value) async throws -> Value {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw CommandFailure(.failed, "a pipe cannot be created: \(String(cString: strerror(errno))).") }
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
        source.activate()
        // Both ends stay open, because the handlers continue to write.
        defer { source.cancel() }
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        for number in numbers where !isIgnored(number) { watch(number) }
        return try await body(SignalWait(signals: signals))
    }

    /// Restores the signals' default actions, before the process executes another program.
    package static func restoreDefaults() { for number in numbers where !isIgnored(number) { signal(number, SIG_DFL) } }

    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    /// A signal that is ignored stays so, as under nohup.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        return sigaction(number, nil, &action) != 0 || unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func watch(_ number: Int32) {
        var action = sigaction()
        action.sa_flags = SA_RESTART
        action.__sigaction_handler.sa_handler = { number in
            var byte = UInt8(truncatingIfNeeded: number)
            let saved = errno
            _ = write(SignalWait.writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = saved
        }
        sigaction(number, &action, nil)
    }

    /// Waits for a signal and returns its number.
    package func next() async -> Int32 {
        for await number in signals { return number }
        return 0
    }
}
