import Synchronization
import Testing

/// Sees whether a test records an issue that makes it fail; one that is known does not.
final class FailureWatch: Sendable {
    private let state = Mutex(false)

    /// Whether it did.
    var hasSeenFailure: Bool { state.withLock { $0 } }

    /// Runs a test; its issues are recorded as they are.
    func observe(_ test: Test, _ testCase: Test.Case?, _ function: @Sendable () async throws -> Void) async throws {
        let handler = IssueHandlingTrait.compactMapIssues { issue in
            if issue.isFailure { self.state.withLock { $0 = true } }
            return issue
        }
        guard let provider = handler.scopeProvider(for: test, testCase: testCase) else { return try await function() }
        try await provider.provideScope(for: test, testCase: testCase, performing: function)
    }
}
