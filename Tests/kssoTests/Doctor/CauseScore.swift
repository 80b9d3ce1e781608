import Synchronization
import Testing

/// Counts the causes that the doctor named, and prints the score when the suite is over.
final class CauseScore: SuiteTrait, TestScoping {
    @TaskLocal static var current: CauseScore?

    private let named = Mutex<Set<String>>([])

    var isRecursive: Bool { false }

    func note(_ cause: String) { named.withLock { _ = $0.insert(cause) } }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await Self.$current.withValue(self) { try await function() }
        print("doctor: causes named \(named.withLock { $0.count }) of \(BrokenSetUp.possible.count)")
        for setUp in BrokenSetUp.all {
            if let obstacle = setUp.obstacle { print("doctor: not made: \(setUp.cause): \(obstacle)") }
        }
    }
}

extension Trait where Self == CauseScore {
    /// Prints how many causes were named.
    static var causeScore: CauseScore { CauseScore() }
}
