import Foundation
public import KerberosTesting
import Synchronization
public import Testing

/// A trait that provides a suite, each of its tests, or a single test with a realm in `TestRealm.current`.
///
/// The KDCs' logs, the configuration files and libkrb5's trace of the realm are attached to a test that fails, and
/// `swift test --attachments-path FOLDER` saves them; nothing is attached to a test that succeeds.
public struct RealmTrait: SuiteTrait, TestTrait, TestScoping {
    /// Which tests share a realm.
    public struct Scope: Sendable, Hashable {
        private let name: String

        /// All tests of a suite share one realm, including nested suites and argument cases.
        public static let suite = Scope(name: "suite")
        /// Each test, and each of its argument cases, has its own realm.
        public static let test = Scope(name: "test")
    }

    /// What happens to the tests if a program or plugin that the realm needs is not installed.
    public struct MissingPrograms: Sendable, Hashable {
        private let name: String

        /// The tests fail with an error that contains the package's name, so that an incomplete run is noticed.
        public static let fail = MissingPrograms(name: "fail")
        /// The tests are skipped for this reason. Requires a Swift 6.3 compiler; with an older one they fail.
        public static let skip = MissingPrograms(name: "skip")
    }

    /// The existing realms by the trait that created them: nested suites and tests inherit a suite's trait.
    @TaskLocal private static var realms: [UUID: TestRealm] = [:]

    let options: TestRealmOptions
    let scope: Scope
    let missingPrograms: MissingPrograms
    private let identity = UUID()
    /// Throws if a program is missing.
    private let check: @Sendable () throws -> Void

    package init(
        _ options: TestRealmOptions,
        scope: Scope,
        ifMissing missingPrograms: MissingPrograms,
        check: (@Sendable () throws -> Void)? = nil
    ) {
        self.options = options
        self.scope = scope
        self.missingPrograms = missingPrograms
        self.check = check ?? { try TestRealm.checkPrograms(for: options) }
    }

    /// True, so that each test of a suite gets its own realm, or attaches the suite's logs when it fails.
    public var isRecursive: Bool { true }

    /// Returns the trait for a suite that has a realm, and for each test case.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> RealmTrait? {
        if test.isSuite { return scope == .suite ? self : nil }
        return testCase == nil ? nil : self
    }

    /// Runs the suite or the test inside the realm.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        if let realm = Self.realms[identity] {
            // Replaces a realm that another trait has meanwhile created for the test.
            return try await TestRealm.$current.withValue(realm) { try await perform(function, in: realm, for: test, testCase) }
        }
        do {
            try check()
        } catch let error as KerberosTestingError where error.code == .programMissing && missingPrograms == .skip {
            #if compiler(>=6.3)
                try Test.cancel("\(error)", sourceLocation: test.sourceLocation)
            #else
                throw error
            #endif
        }
        try await withTestRealm(options) { realm in
            try await Self.$realms.withValue(Self.realms.merging([identity: realm]) { $1 }) {
                try await perform(function, in: realm, for: test, testCase)
            }
        }
    }

    private func perform(
        _ function: @Sendable () async throws -> Void,
        in realm: TestRealm,
        for test: Test,
        _ testCase: Test.Case?
    ) async throws {
        if test.isSuite { return try await function() }
        let watch = FailureWatch()
        do {
            try await watch.observe(test, testCase, function)
        } catch {
            // A canceled test has not failed.
            if !Task.isCancelled { realm.attachLogs(sourceLocation: test.sourceLocation) }
            throw error
        }
        if watch.hasSeenFailure { realm.attachLogs(sourceLocation: test.sourceLocation) }
    }
}

extension Trait where Self == RealmTrait {
    /// Provides a realm with the given options.
    ///
    /// - Parameters:
    ///   - options: The options of the realm.
    ///   - scope: Which tests share it.
    ///   - missingPrograms: What happens to the tests if a program or plugin that the realm needs is not installed.
    public static func testRealm(
        _ options: TestRealmOptions = .init(),
        scope: RealmTrait.Scope = .suite,
        ifMissing missingPrograms: RealmTrait.MissingPrograms = .fail
    ) -> RealmTrait {
        RealmTrait(options, scope: scope, ifMissing: missingPrograms)
    }

    /// Provides a realm with these users and services.
    ///
    /// - Parameters:
    ///   - users: The users and their passwords.
    ///   - services: The service principals, such as `HTTP/localhost`.
    ///   - scope: Which tests share it.
    ///   - missingPrograms: What happens to the tests if a program or plugin that the realm needs is not installed.
    public static func testRealm(
        users: [String: String],
        services: [String] = [],
        scope: RealmTrait.Scope = .suite,
        ifMissing missingPrograms: RealmTrait.MissingPrograms = .fail
    ) -> RealmTrait {
        RealmTrait(TestRealmOptions(users: users, services: services), scope: scope, ifMissing: missingPrograms)
    }
}

/// Observes whether a test records an issue that makes it fail; a known issue does not.
final class FailureWatch: Sendable {
    private let state = Mutex(false)

    /// Whether such an issue was recorded.
    var hasSeenFailure: Bool { state.withLock { $0 } }

    /// Runs a test; its issues are recorded unchanged.
    func observe(_ test: Test, _ testCase: Test.Case?, _ function: @Sendable () async throws -> Void) async throws {
        let handler = IssueHandlingTrait.compactMapIssues { issue in
            if issue.isFailure { self.state.withLock { $0 = true } }
            return issue
        }
        guard let provider = handler.scopeProvider(for: test, testCase: testCase) else { return try await function() }
        try await provider.provideScope(for: test, testCase: testCase, performing: function)
    }
}

extension TestRealm {
    /// Attaches the KDCs' logs, the configuration files and libkrb5's trace to the current test, except for empty files.
    ///
    /// `.testRealm(…)` does this for every test that fails. Call it for realms of `withTestRealm` and similar functions.
    public func attachLogs(sourceLocation: SourceLocation = #_sourceLocation) {
        for (file, text) in diagnosticFiles() {
            Attachment.record(text, named: "\(name)-\(file)", sourceLocation: sourceLocation)
        }
    }
}
