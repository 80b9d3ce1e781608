internal import Dispatch
public import Testing

/// Threads apart from those that all Swift tasks share, of which there is one for each processor.
///
/// A test that blocks a shared thread, or computes on it for seconds, delays the servers and the clients of all other tests beyond their
/// time limits.
package final class SeparateThreads: TaskExecutor {
    static let shared = SeparateThreads()

    private init() {}

    /// Each job has a serial queue, for which Dispatch starts another thread if all are busy. A concurrent queue would use the threads of
    /// all Swift tasks.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue(label: "a test's own thread").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs a long computation on a thread of its own, one such test case at a time.
///
/// The time limit of a test includes its wait for the others.
public struct ComputationTrait: TestTrait, SuiteTrait, TestScoping {
    private static let turn = Turn()

    /// Whether the trait of a suite applies to its tests.
    public var isRecursive: Bool { true }

    /// Waits for the other computations, then runs the test case.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        try await Self.turn.run { try await withTaskExecutorPreference(SeparateThreads.shared) { try await body() } }
    }
}

extension Trait where Self == ComputationTrait {
    /// Runs a test that computes for more than about a second on a thread of its own.
    public static var computation: Self { ComputationTrait() }
}

/// Lets one test run at a time.
actor Turn {
    private var isTaken = false
    private var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    private var next = 0

    /// Runs the closure when no other one runs. Throws `CancellationError` if the task is canceled while it waits.
    nonisolated func run(_ body: @Sendable () async throws -> Void) async throws {
        try await take()
        do {
            try await body()
        } catch {
            await pass()
            throw error
        }
        await pass()
    }

    private func take() async throws {
        guard isTaken else {
            isTaken = true
            return
        }
        next += 1
        let number = next
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting.append((number, $0)) }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    private func leave(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func pass() {
        guard !waiting.isEmpty else {
            isTaken = false
            return
        }
        waiting.removeFirst().continuation.resume()
    }
}
