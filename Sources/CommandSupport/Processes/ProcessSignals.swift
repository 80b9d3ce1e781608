internal import Dispatch
internal import Foundation
internal import SystemSupport

/// Turns SIGINT, SIGTERM and SIGHUP into values for a body, so that the body can end in order.
///
/// The handlers stay when the body has ended, because a second signal must not kill the process before it exits with its own status.
package struct ProcessSignals: Sendable {
    private let signals: AsyncStream<Int32>

    /// Runs a body. Only one can run at a time in a process.
    package static func withSignals<Value>(_ body: (ProcessSignals) async throws -> Value) async throws -> Value {
        guard let pipe = SignalPipe.process else {
            throw CommandFailure(.failed, "a pipe cannot be created: \(String(cString: strerror(errno))).")
        }
        pipe.discard()
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let source = DispatchSource.makeReadSource(fileDescriptor: pipe.descriptor, queue: DispatchQueue(label: "ksso.signals"))
        source.setEventHandler { while let number = pipe.next() { continuation.yield(number) } }
        source.activate()
        defer { source.cancel() }
        for number in numbers { _ = pipe.catches(number, flags: SA_RESTART) }
        return try await body(ProcessSignals(signals: signals))
    }

    /// Restores the signals' default actions, before the process executes another program. A signal that is ignored stays so.
    package static func restoreDefaults() { for number in numbers where !SignalPipe.isIgnored(number) { signal(number, SIG_DFL) } }

    private static let numbers = [SIGINT, SIGTERM, SIGHUP]

    /// Waits for a signal and returns its number.
    package func next() async -> Int32 {
        for await number in signals { return number }
        return 0
    }
}
