import Dispatch
import Kerberos
import Synchronization

/// A prompter that waits until it is cancelled or its answer is released.
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

    /// How often the prompt was cancelled.
    var cancelCount: Int { cancellations.withLock { $0 } }

    /// Waits until the prompter is asked.
    func asked() async {
        for await _ in arrivals { return }
    }

    /// Releases the answer.
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
