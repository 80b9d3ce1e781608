import Dispatch
import Kerberos
import Synchronization

/// A prompter that gives every request the same answer or refusal, and counts the requests.
final class CountingPrompter: Prompter {
    private let outcome: Result<Secret, PromptRefusal>
    private let asks = Mutex(0)
    private let gate: DispatchSemaphore?
    private let arrivals: AsyncStream<Void>
    private let arrive: AsyncStream<Void>.Continuation

    init(answer: String, waits: Bool = false) {
        outcome = .success(Secret(answer))
        gate = waits ? DispatchSemaphore(value: 0) : nil
        (arrivals, arrive) = AsyncStream.makeStream()
    }

    init(refusal: PromptRefusal) {
        outcome = .failure(refusal)
        gate = nil
        (arrivals, arrive) = AsyncStream.makeStream()
    }

    /// The number of requests so far.
    var count: Int { asks.withLock { $0 } }

    /// Waits for a request.
    func asked() async {
        for await _ in arrivals { return }
    }

    /// Lets one waiting request be answered.
    func release() { gate?.signal() }

    func answers(to request: PromptRequest) throws -> [Secret] {
        asks.withLock { $0 += 1 }
        arrive.yield()
        gate?.wait()
        return try request.prompts.map { _ in try outcome.get() }
    }
}
