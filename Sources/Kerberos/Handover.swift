internal import Synchronization

/// Takes a value that can't be copied out of a call whose result must be copyable. Whoever asks first has it.
final class Handover<Value: ~Copyable & Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: consuming sending Value) {
        self.value = Mutex(value)
    }

    func take() -> Value? {
        value.withLock { $0.take() }
    }
}
