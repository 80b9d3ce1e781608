public import Testing

/// Runs one exit test at a time.
///
/// While its child process runs, an exit test blocks one of the threads that all Swift tasks share, of which there is one for each
/// processor: Swift Testing reads a pipe there. On two processors, two exit tests at a time would stop every other test, and those that
/// wait for the parent process would never end.
public struct ExitTestTrait: TestTrait, SuiteTrait, TestScoping {
    /// A suite passes the trait to its tests.
    public var isRecursive: Bool { true }

    private static let turn = Turn()

    /// Waits for the other exit tests, then runs the test.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        await Self.turn.take()
        do {
            try await body()
        } catch {
            await Self.turn.pass()
            throw error
        }
        await Self.turn.pass()
    }

    private actor Turn {
        private var isTaken = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func take() async {
            guard isTaken else {
                isTaken = true
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func pass() {
            guard !waiting.isEmpty else {
                isTaken = false
                return
            }
            waiting.removeFirst().resume()
        }
    }
}

extension Trait where Self == ExitTestTrait {
    /// Runs the exit test when no other one runs; every test with `processExitsWith` needs it.
    public static var exitTest: Self { ExitTestTrait() }
}
