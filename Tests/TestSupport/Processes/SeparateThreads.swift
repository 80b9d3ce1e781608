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

/// Runs a test case on threads of its own, when no other one of its kind runs.
///
/// The time limit of a test includes its wait for the others.
public struct SeparateThreadsTrait: TestTrait, TestScoping {
    fileprivate static let exitTests = Turn()
    fileprivate static let computations = Turn()

    fileprivate let turn: Turn

    /// Waits for the others of its kind, then runs the test case.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        try await turn.run { try await withTaskExecutorPreference(SeparateThreads.shared) { try await body() } }
    }
}

extension Trait where Self == SeparateThreadsTrait {
    /// For a test with `processExitsWith`: while its child process runs, Swift Testing blocks the test's thread to read a pipe.
    public static var exitTest: Self { SeparateThreadsTrait(turn: SeparateThreadsTrait.exitTests) }

    /// For a test that computes for more than about a second.
    public static var computation: Self { SeparateThreadsTrait(turn: SeparateThreadsTrait.computations) }
}
