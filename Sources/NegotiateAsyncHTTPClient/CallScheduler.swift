import HTTPNegotiate
import NIOCore
import Synchronization

/// Gives each call an event loop: the one with the fewest calls. One call after the other thus finds its connections on the loop it left
/// them on, and many at once use all loops.
final class CallScheduler: Sendable {
    private let executors: [EventLoopTaskExecutor]
    private let calls: Mutex<[Int]>

    init(_ group: any EventLoopGroup) {
        executors = group.makeIterator().map { EventLoopTaskExecutor($0) }
        calls = Mutex(Array(repeating: 0, count: executors.count))
    }

    /// Runs a call; when the time is up it is cancelled, and the error with the code `timedOut` thrown.
    func run<Value: Sendable>(
        within limit: Duration,
        _ call: @escaping @Sendable (any EventLoop) async throws -> Value
    ) async throws -> Value {
        let position = begin()
        defer { calls.withLock { $0[position] -= 1 } }
        let executor = executors[position]
        let expiry = Expiry()
        let task = Task(executorPreference: executor) {
            let timer = executor.eventLoop.scheduleTask(in: TimeAmount(limit)) { expiry.expire() }
            defer { timer.cancel() }
            return try await call(executor.eventLoop)
        }
        expiry.watch(task)
        return try await withTaskCancellationHandler {
            do {
                return try await task.value
            } catch {
                throw expiry.isReached ? AuthorizationError.timedOut(after: limit) : error
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func begin() -> Int {
        calls.withLock { calls in
            let position = calls.indices.min { calls[$0] < calls[$1] } ?? 0
            calls[position] += 1
            return position
        }
    }
}

/// The end of a call's time.
private final class Expiry: Sendable {
    private enum State {
        case running(cancel: (@Sendable () -> Void)?)
        case reached
    }

    private let state = Mutex(State.running(cancel: nil))

    var isReached: Bool {
        state.withLock { if case .reached = $0 { true } else { false } }
    }

    func watch(_ task: Task<some Sendable, any Error>) {
        let isReached = state.withLock { state in
            if case .reached = state { return true }
            state = .running { task.cancel() }
            return false
        }
        if isReached { task.cancel() }
    }

    func expire() {
        let cancel = state.withLock { state in
            defer { state = .reached }
            if case .running(let cancel) = state { return cancel }
            return nil
        }
        cancel?()
    }
}
