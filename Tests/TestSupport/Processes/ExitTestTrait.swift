public import Testing

/// Runs one exit test at a time.
///
/// While its child process runs, an exit test blocks one of the threads that all Swift tasks share, of which there is one for each
/// processor: Swift Testing reads a pipe there. On two processors, two exit tests at a time would stop every other test, and those that
/// wait for the parent process would never finish.
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
        try await Self.turn.take()
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
        private var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        private var next = 0

        func take() async throws {
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

        func pass() {
            guard !waiting.isEmpty else {
                isTaken = false
                return
            }
            waiting.removeFirst().continuation.resume()
        }
    }
}

extension Trait where Self == ExitTestTrait {
    /// Runs the exit test when no other one runs; every test with `processExitsWith` needs it.
    public static var exitTest: Self { ExitTestTrait() }
}
