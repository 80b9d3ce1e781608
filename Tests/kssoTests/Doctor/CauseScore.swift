import Synchronization
import Testing

/// Counts the causes that the doctor reports, and prints the score after the suite.
final class CauseScore: SuiteTrait, TestScoping {
    @TaskLocal static var current: CauseScore?

    private let reported = Mutex<Set<String>>([])

    var isRecursive: Bool { false }

    func note(_ cause: String) { reported.withLock { _ = $0.insert(cause) } }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await Self.$current.withValue(self) { try await function() }
        print("doctor: causes reported \(reported.withLock { $0.count }) of \(BrokenSetUp.possible.count)")
        for setUp in BrokenSetUp.all {
            if let obstacle = setUp.obstacle { print("doctor: not tested: \(setUp.cause): \(obstacle)") }
        }
    }
}

extension Trait where Self == CauseScore {
    /// Prints how many causes the doctor reports.
    static var causeScore: CauseScore { CauseScore() }
}
