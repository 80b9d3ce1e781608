internal import Synchronization

/// How long a caller waits for a C call, which can't be canceled: the wait ends, the call goes on by itself.
///
/// The time that a person takes to answer a prompt does not count.
final class CallDeadline: Sendable {
    private struct State {
        var remaining: Duration
        var runningSince: ContinuousClock.Instant?
    }

    private let state: Mutex<State>
    private let clock = ContinuousClock()

    init(_ limit: Duration) {
        state = Mutex(State(remaining: limit, runningSince: nil))
    }

    /// Starts the time, or lets it go on.
    func resume() {
        let now = clock.now
        state.withLock { if $0.runningSince == nil { $0.runningSince = now } }
    }

    /// Stops the time.
    func pause() {
        let now = clock.now
        state.withLock { state in
            guard let since = state.runningSince else { return }
            state.remaining -= now - since
            state.runningSince = nil
        }
    }

    /// Returns when the time is up; throws when the task is canceled first.
    func expiry() async throws {
        while true {
            let now = clock.now
            let wait: Duration = state.withLock { state in
                guard let since = state.runningSince else { return max(state.remaining, .milliseconds(100)) }
                return state.remaining - (now - since)
            }
            if wait <= .zero { return }
            try await clock.sleep(for: wait)
        }
    }
}
