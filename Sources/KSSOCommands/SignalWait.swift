internal import Dispatch
internal import Foundation

/// Turns SIGINT, SIGTERM and SIGHUP into values for the time a body runs, so that the body can end in order.
struct SignalWait: Sendable {
    private let signals: AsyncStream<Int32>

    static func untilSignal<Value>(_ body: (SignalWait) async throws -> Value) async throws -> Value {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        let sources = [SIGINT, SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)  // the source gets it instead
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield(number) }
            source.activate()
            return source
        }
        defer { sources.forEach { $0.cancel() } }
        return try await body(SignalWait(signals: signals))
    }

    /// Waits for a signal.
    func next() async -> Int32 {
        for await number in signals { return number }
        return 0
    }
}
