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
        // Nobody is woken under the lock: the runtime has locks of its own then, and takes them the other way round when it calls off a
        // task.
        let (isFirst, waiting): (Bool, CheckedContinuation<Value, Never>?) = state.withLock { state in
            switch state {
            case .open:
                state = .finished(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .delivered
                return (true, continuation)
            case .finished, .delivered:
                return (false, nil)
            }
        }
        waiting?.resume(returning: value)
        return isFirst
    }

    /// Waits for the result. Call it once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let early: Value? = state.withLock { state in
                guard case .finished(let value) = state else {
                    state = .awaited(continuation)
                    return nil
                }
                state = .delivered
                return value
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}
