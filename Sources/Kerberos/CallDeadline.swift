internal import Synchronization

/// How long a caller waits for a C call, which can't be canceled: the wait ends, the call goes on by itself.
///
/// The time that a person takes to answer a prompt does not count.
final class CallDeadline: Sendable {
    private struct State {
        var limit: Duration
        var remaining: Duration
        var runningSince: ContinuousClock.Instant?
        var isAbandoned = false
        /// Who is being asked now, and what.
        var question: (prompter: any Prompter, request: PromptRequest)?
    }

    private let state: Mutex<State>
    private let clock = ContinuousClock()

    init(_ limit: Duration) {
        state = Mutex(State(limit: limit, remaining: limit, runningSince: nil))
    }

    /// How long that is in all.
    var limit: Duration { state.withLock { $0.limit } }

    /// Gives the call so long in all, unless it has as long already.
    func lengthen(to limit: Duration) {
        state.withLock { state in
            guard limit > state.limit else { return }
            state.remaining += limit - state.limit
            state.limit = limit
        }
    }

    /// Whether the time is up, or nobody waits any more.
    var isOver: Bool {
        let now = clock.now
        return state.withLock { state in
            state.isAbandoned || state.remaining - (state.runningSince.map { now - $0 } ?? .zero) <= .zero
        }
    }

    /// Starts the time, or lets it go on after a question; false when nobody waits for the answer any more.
    @discardableResult
    func resume() -> Bool {
        let now = clock.now
        return state.withLock { state in
            state.question = nil
            if state.runningSince == nil { state.runningSince = now }
            return !state.isAbandoned
        }
    }

    /// Stops the time while somebody is asked; false when nobody waits for the answer any more.
    func pause(for prompter: any Prompter, asked request: PromptRequest) -> Bool {
        let now = clock.now
        return state.withLock { state in
            guard !state.isAbandoned else { return false }
            state.question = (prompter, request)
            if let since = state.runningSince { state.remaining -= now - since }
            state.runningSince = nil
            return true
        }
    }

    /// Nobody waits any more: no question is asked from now on, and who is being asked is told. True when somebody is.
    func abandon() -> Bool {
        let question = state.withLock { state in
            state.isAbandoned = true
            return state.question
        }
        guard let question else { return false }
        question.request.cancel(at: question.prompter)
        return true
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
