import Foundation
public import KerberosTesting
import Synchronization
public import Testing

/// Gives a suite, each of its tests, or a single test a realm in `TestRealm.current`.
///
/// A test that fails gets the KDCs' log, the configuration files and libkrb5's trace of its realm as attachments, which
/// `swift test --attachments-path FOLDER` keeps; one that succeeds gets none.
public struct RealmTrait: SuiteTrait, TestTrait, TestScoping {
    /// How many tests share a realm.
    public struct Scope: Sendable, Hashable {
        private let name: String

        /// A suite has one realm for all its tests, nested suites and argument cases included.
        public static let suite = Scope(name: "suite")
        /// Each test, and each of its argument cases, has a realm of its own.
        public static let test = Scope(name: "test")
    }

    /// What becomes of the tests where a program or plugin is not installed that the realm needs.
    public struct MissingPrograms: Sendable, Hashable {
        private let name: String

        /// They fail with an error that names the package, so that nobody takes a run for complete that is not.
        public static let fail = MissingPrograms(name: "fail")
        /// They are skipped, with that as the reason. This needs a Swift 6.3 compiler; with an older one they fail.
        public static let skip = MissingPrograms(name: "skip")
    }

    /// The realms that are there already, by the trait that made them: nested suites and tests inherit a suite's trait.
    @TaskLocal private static var realms: [UUID: TestRealm] = [:]

    let options: TestRealmOptions
    let scope: Scope
    let missingPrograms: MissingPrograms
    private let identity = UUID()
    /// Throws where a program is missing.
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

    /// The tests of a suite inherit the trait, each to have a realm or to show the suite's when it fails.
    public var isRecursive: Bool { true }

    /// Suites where they have a realm; otherwise each case of a test.
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
            // A realm that another trait made meanwhile, for the test alone, is not this one's.
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
            // A test that is cancelled has not failed.
            if !Task.isCancelled { realm.attachLogs(sourceLocation: test.sourceLocation) }
            throw error
        }
        if watch.hasSeenFailure { realm.attachLogs(sourceLocation: test.sourceLocation) }
    }
}

extension Trait where Self == RealmTrait {
    /// A realm with the options given.
    ///
    /// - Parameters:
    ///   - options: What the realm starts with.
    ///   - scope: How many tests share it.
    ///   - missingPrograms: What becomes of the tests where a program or plugin is not installed that the realm needs.
    public static func testRealm(
        _ options: TestRealmOptions = .init(),
        scope: RealmTrait.Scope = .suite,
        ifMissing missingPrograms: RealmTrait.MissingPrograms = .fail
    ) -> RealmTrait {
        RealmTrait(options, scope: scope, ifMissing: missingPrograms)
    }

    /// A realm with these users, by name with their passwords, and services.
    ///
    /// - Parameters:
    ///   - users: The users and their passwords.
    ///   - services: The service principals, such as `HTTP/localhost`.
    ///   - scope: How many tests share it.
    ///   - missingPrograms: What becomes of the tests where a program or plugin is not installed that the realm needs.
    public static func testRealm(
        users: [String: String],
        services: [String] = [],
        scope: RealmTrait.Scope = .suite,
        ifMissing missingPrograms: RealmTrait.MissingPrograms = .fail
    ) -> RealmTrait {
        RealmTrait(TestRealmOptions(users: users, services: services), scope: scope, ifMissing: missingPrograms)
    }
}

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

extension TestRealm {
    /// Attaches the KDCs' log, the configuration files and libkrb5's trace to the test that runs now; no file that is empty.
    ///
    /// `.testRealm(…)` does so by itself for a test that fails. For realms of `withTestRealm` and its like, call it.
    public func attachLogs(sourceLocation: SourceLocation = #_sourceLocation) {
        for (file, text) in diagnosticFiles() {
            Attachment.record(text, named: "\(name)-\(file)", sourceLocation: sourceLocation)
        }
    }
}
