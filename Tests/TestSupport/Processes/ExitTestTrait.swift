public import Testing

/// Runs one exit test at a time, on threads of its own.
///
/// While its child process runs, Swift Testing blocks the exit test's thread to read a pipe.
///
/// The time limit of a test includes its wait for the others.
public struct ExitTestTrait: TestTrait, TestScoping {
    private static let turn = Turn()

    /// Waits for the other exit tests, then runs the test.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        try await Self.turn.run { try await withTaskExecutorPreference(SeparateThreads.shared) { try await body() } }
    }
}

extension Trait where Self == ExitTestTrait {
    /// Runs the exit test when no other one runs; every test with `processExitsWith` needs it.
    public static var exitTest: Self { ExitTestTrait() }
}
