internal import Synchronization

/// The calls of one client that are in progress: each has the time that it may take, and all end with the client.
package final class RunningCalls: Sendable {
    private struct State {
        var number = 0
        var calls: [Int: CallEnd] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())
    private let shutDownError: HTTPTransportError

    /// - Parameter shutDownError: What a call gets that is in progress when the client is shut down, and every later one.
    package init(shutDownError: HTTPTransportError) { self.shutDownError = shutDownError }

    /// Runs a call. When the time is up it is cancelled, and the error with the code `timedOut` thrown; when the client is shut down, the
    /// error for that. `CancellationError` when the caller's task is cancelled, whatever noticed it first.
    package func run<Value: Sendable>(
        within limit: Duration,
        _ call: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A task of its own would begin before it heard of that.
        try Task.checkCancellation()
        let task = Task(operation: call)
        let end = CallEnd { task.cancel() }
        let number = begin(end)
        let deadline = DeadlineQueue.shared.insert(after: limit) {
            let message = "The request was not finished within \(limit). Try again, or allow more time."
            end.come(AuthorizationError(.timedOut, message))
        }
        defer {
            DeadlineQueue.shared.remove(deadline)
            state.withLock { _ = $0.calls.removeValue(forKey: number) }
        }
        return try await withTaskCancellationHandler {
            do {
                return try await task.value
            } catch {
                try Task.checkCancellation()
                throw end.reason ?? error
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends all calls, and every later one at once.
    package func shutDown() {
        let calls = state.withLock { state in
            state.isShutDown = true
            return Array(state.calls.values)
        }
        for call in calls { call.come(shutDownError) }
    }

    private func begin(_ end: CallEnd) -> Int {
        let (number, isShutDown) = state.withLock { state in
            state.number += 1
            state.calls[state.number] = end
            return (state.number, state.isShutDown)
        }
        if isShutDown { end.come(shutDownError) }
        return number
    }
}

/// What ends a call before its time, and why it did: the first reason counts.
private final class CallEnd: Sendable {
    private let cancel: @Sendable () -> Void
    private let first = Mutex<(any Error)?>(nil)

    init(_ cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }

    var reason: (any Error)? { first.withLock { $0 } }

    func come(_ reason: any Error) {
        first.withLock { $0 = $0 ?? reason }
        cancel()
    }
}
