import Dispatch
import Kerberos
import Synchronization

/// A person who thinks it over until somebody calls it off, or the answer is released.
final class WaitingPrompter: Prompter {
    private let cancellations = Mutex(0)
    private let gate = DispatchSemaphore(value: 0)
    private let heedsCancellation: Bool
    private let arrivals: AsyncStream<Void>
    private let arrive: AsyncStream<Void>.Continuation

    init(heedsCancellation: Bool) {
        self.heedsCancellation = heedsCancellation
        (arrivals, arrive) = AsyncStream.makeStream()
    }

    /// How often it was told that nobody waits any more.
    var cancelCount: Int { cancellations.withLock { $0 } }

    /// Waits until it is asked.
    func asked() async {
        for await _ in arrivals { return }
    }

    /// Lets the question be answered.
    func release() { gate.signal() }

    func answers(to request: PromptRequest) throws -> [Secret] {
        arrive.yield()
        gate.wait()
        if heedsCancellation && cancelCount > 0 { throw PromptRefusal.canceled }
        return [Secret("wrong")]
    }

    func cancel(_ request: PromptRequest) {
        cancellations.withLock { $0 += 1 }
        if heedsCancellation { gate.signal() }
    }
}
