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

/// All deadlines of the process, with one task that sleeps until the next: a call notes its own and takes it away again, which wakes
/// nobody.
final class DeadlineQueue: Sendable {
    static let shared = DeadlineQueue()

    private struct Entry {
        let instant: ContinuousClock.Instant
        let expire: @Sendable () -> Void
    }

    private struct State {
        var number = 0
        var entries: [Int: Entry] = [:]
        /// When the sleeping task wakes; nil where none sleeps.
        var waking: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    /// Far enough for "no limit", and within what a clock can add.
    private static let longest = Duration.seconds(1 << 31)

    /// Notes a closure that is to be called when the time is up; returns what takes it away.
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
