internal import Synchronization

/// A result that comes from whoever is first, awaited once.
final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case finished(Value)
        case delivered
    }

    private let state = Mutex(State.open)

    /// Sets the result; false when another was first.
    @discardableResult
    func finish(with value: Value) -> Bool {
        state.withLock { state in
            switch state {
            case .open:
                state = .finished(value)
                return true
            case .awaited(let continuation):
                state = .delivered
                continuation.resume(returning: value)
                return true
            case .finished, .delivered:
                return false
            }
        }
    }

    /// Waits for the result. Call it once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if case .finished(let value) = state {
                    state = .delivered
                    continuation.resume(returning: value)
                } else {
                    state = .awaited(continuation)
                }
            }
        }
    }
}
