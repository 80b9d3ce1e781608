internal import SignOnPolicy
internal import Synchronization

/// The running calls of one client: each has a time limit, and all end when the client is shut down.
package final class RunningCalls: Sendable {
    private struct State {
        var number = 0
        var calls: [Int: CallEnd] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())
    private let shutDownError: HTTPTransportError

    /// - Parameter shutDownError: The error of calls that are running when the client is shut down, and of all later ones.
    package init(shutDownError: HTTPTransportError) { self.shutDownError = shutDownError }

    /// Runs a call. Cancels it at the time limit and throws the error `timedOut`; at shutdown, throws the shutdown error. Throws
    /// `CancellationError` if the caller's task is canceled, even if another error came first.
    ///
    /// - Parameter executor: Where the call runs; nil for the threads of all tasks.
    package func run<Value: Sendable>(
        within limit: Duration,
        on executor: (any TaskExecutor)? = nil,
        _ call: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // The call's own task would start before it learns of the cancellation.
        try Task.checkCancellation()
        let task = Task(executorPreference: executor, operation: call)
        let end = CallEnd { task.cancel() }
        let number = begin(end)
        let deadline = DeadlineQueue.shared.insert(after: limit) {
            let message = "The request did not finish within \(limit). Try again, or allow more time."
            end.end(with: AuthorizationError(.timedOut, message))
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

    /// Ends all calls, and all later calls immediately.
    package func shutDown() {
        let calls = state.withLock { state in
            state.isShutDown = true
            return Array(state.calls.values)
        }
        for call in calls { call.end(with: shutDownError) }
    }

    private func begin(_ end: CallEnd) -> Int {
        let (number, isShutDown) = state.withLock { state in
            state.number += 1
            state.calls[state.number] = end
            return (state.number, state.isShutDown)
        }
        if isShutDown { end.end(with: shutDownError) }
        return number
    }
}

/// Ends a call early, and stores the reason: the first one counts.
private final class CallEnd: Sendable {
    private let cancel: @Sendable () -> Void
    private let first = Mutex<(any Error)?>(nil)

    init(_ cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }

    var reason: (any Error)? { first.withLock { $0 } }

    func end(with reason: any Error) {
        first.withLock { $0 = $0 ?? reason }
        cancel()
    }
}

/// All deadlines of the process, with one task that sleeps until the next one. Adding a later deadline or removing one wakes no task.
final class DeadlineQueue: Sendable {
    static let shared = DeadlineQueue()

    private struct Entry {
        let instant: ContinuousClock.Instant
        let expire: @Sendable () -> Void
    }

    private struct State {
        var number = 0
        var entries: [Int: Entry] = [:]
        /// When the sleeping task wakes; nil if none sleeps.
        var waking: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    /// Long enough for "no limit", and short enough to add to a clock's instant.
    private static let longest = Duration.seconds(1 << 31)

    /// Schedules a closure for the end of the time limit; returns the number to remove it with.
    func insert(after limit: Duration, _ expire: @escaping @Sendable () -> Void) -> Int {
        let instant = ContinuousClock.now + min(limit, Self.longest)
        let (number, isNext) = state.withLock { state in
            state.number += 1
            state.entries[state.number] = Entry(instant: instant, expire: expire)
            let isNext = state.waking.map { instant < $0 } ?? true
            if isNext { state.waking = instant }
            return (state.number, isNext)
        }
        if isNext { Task.detached { await self.sleep(until: instant) } }
        return number
    }

    func remove(_ number: Int) {
        state.withLock { _ = $0.entries.removeValue(forKey: number) }
    }

    /// Sleeps from one deadline to the next, until there is none or another task has an earlier one.
    private func sleep(until first: ContinuousClock.Instant) async {
        var instant = first
        while true {
            try? await ContinuousClock().sleep(until: instant)
            let (expired, next) = takeExpired(wokenAt: instant)
            for entry in expired { entry.expire() }
            guard let next else { return }
            instant = next
        }
    }

    private func takeExpired(wokenAt instant: ContinuousClock.Instant) -> ([Entry], ContinuousClock.Instant?) {
        state.withLock { state in
            let now = ContinuousClock.now
            let expired = state.entries.filter { $0.value.instant <= now }
            for number in expired.keys { state.entries[number] = nil }
            guard state.waking == instant else { return (Array(expired.values), nil) }
            state.waking = state.entries.values.map(\.instant).min()
            return (Array(expired.values), state.waking)
        }
    }
}
