import Dispatch
import Kerberos
import Synchronization

/// Answers every question alike, or refuses, and counts.
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

    /// How often it was asked.
    var count: Int { asks.withLock { $0 } }

    /// Waits until it is asked.
    func asked() async {
        for await _ in arrivals { return }
    }

    /// Lets a question that waits be answered.
    func release() { gate?.signal() }

    func answers(to request: PromptRequest) throws -> [Secret] {
        asks.withLock { $0 += 1 }
        arrive.yield()
        gate?.wait()
        return try request.prompts.map { _ in try outcome.get() }
    }
}
