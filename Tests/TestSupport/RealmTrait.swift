public import KerberosTesting
public import Testing

/// Gives a suite, or a single test, a realm of its own in `TestRealm.current`.
///
/// A suite has one realm for all its tests, nested suites and argument cases included. Without a realm (a package is missing, the KDC does
/// not start) the suite fails with the reason; it is never skipped in silence.
public struct RealmTrait: SuiteTrait, TestTrait, TestScoping {
    let options: TestRealmOptions

    /// The scope of a suite is the suite, not each of its tests.
    public var isRecursive: Bool { false }

    /// Runs the suite or the test inside the realm.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTestRealm(options) { _ in try await function() }
    }
}

extension Trait where Self == RealmTrait {
    /// A realm with the options given.
    public static func testRealm(_ options: TestRealmOptions = .init()) -> RealmTrait {
        RealmTrait(options: options)
    }

    /// A realm with these users, by name with their passwords, and services.
    public static func testRealm(users: [String: String], services: [String] = []) -> RealmTrait {
        RealmTrait(options: TestRealmOptions(users: users, services: services))
    }
}
