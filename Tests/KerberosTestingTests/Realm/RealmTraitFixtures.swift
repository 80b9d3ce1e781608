import Foundation
import KerberosTesting
import KerberosTestingTraits
import Testing

/// The communication between `RealmTraitTests` and its fixtures.
enum FixtureRun {
    static let variable = "KERBEROS_TESTING_FIXTURES"
    static var isThis: Bool { ProcessInfo.processInfo.environment[variable] != nil }

    /// Prints the realm of a test for the parent process.
    static func printRealm(_ test: String) throws {
        let realm = try #require(TestRealm.current)
        print("realm \(test) \(realm.directory) \(realm.name)")
    }

    @Sendable static func findNoProgram() throws {
        _ = try Program.path(of: "krb5kdc", environment: ["PATH": "/nonexistent"], systemFolders: [])
    }
}

/// Suites that `RealmTraitTests` runs in a separate process because some of them fail. In other runs they are skipped.
///
/// `RealmTraitTests` selects the tests by words of their names.
@Suite(.enabled(if: FixtureRun.isThis, "RealmTraitTests runs these in a separate process"))
enum Fixtures {
    @Suite(.testRealm(.init(name: "SHARED.TEST", users: ["alice": "secret"], kdcCount: 2)))
    struct SharedRealm {
        @Test func `an expectation fails`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "secret")
            #expect(Bool(false), "intended by the fixture")
        }

        @Test func `kinit throws an error`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "wrong")
        }

        @Test func `kinit succeeds`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "secret")
        }

        @Test func `an issue is known`() async throws {
            withKnownIssue { Issue.record("intended by the fixture") }
        }

        @Test(arguments: 0..<2)
        func `each case of a shared realm prints its realm`(number: Int) throws { try FixtureRun.printRealm("tells-\(number)") }

        @Suite struct Nested {
            @Test func `a nested test prints its realm`() throws { try FixtureRun.printRealm("nested") }
            @Test func `a nested test fails`() throws { Issue.record("intended by the fixture") }
        }

        @Suite(.testRealm(.init(name: "INNER.TEST"))) struct Inner {
            @Test func `a test of a suite with its own trait prints its realm`() throws { try FixtureRun.printRealm("inner") }
        }
    }

    @Suite(.testRealm(.init(name: "OWN.TEST"), scope: .test))
    struct OwnRealm {
        @Test func `a test prints its own realm`() throws { try FixtureRun.printRealm("first") }
        @Test(arguments: 0..<2)
        func `each case prints its own realm`(number: Int) throws { try FixtureRun.printRealm("case-\(number)") }
        @Test func `a test with a realm of its own fails`() throws { Issue.record("intended by the fixture") }
    }

    @Suite(.testRealm(.init(name: "EACH.TEST"), scope: .test))
    struct EachRealm {
        @Test func `a test of the outer suite prints its realm`() throws { try FixtureRun.printRealm("each") }

        @Suite(.testRealm(.init(name: "WITHIN.TEST"))) struct Within {
            @Test func `a test of the inner suite prints its realm`() throws { try FixtureRun.printRealm("within") }
            @Test func `another test of the inner suite prints its realm`() throws { try FixtureRun.printRealm("within-too") }
            @Test(.testRealm(.init(name: "INNERMOST.TEST"))) func `a test with its own trait prints its realm`() throws {
                try FixtureRun.printRealm("innermost")
            }
        }
    }

    @Suite(.testRealm(.init(acceptsCertificates: true), ifMissing: .skip))
    struct Certificates {
        @Test func `a realm with certificates requires the PKINIT plugin`() throws { _ = try #require(TestRealm.current) }
    }

    @Suite(RealmTrait(.init(), scope: .suite, ifMissing: .skip, check: FixtureRun.findNoProgram))
    struct Skipped {
        @Test func `a test of a skipped suite never runs`() { Issue.record("It ran without a realm.") }
    }

    @Suite(RealmTrait(.init(), scope: .test, ifMissing: .skip, check: FixtureRun.findNoProgram))
    struct SkippedEach {
        @Test func `a test with a skipping trait never runs`() { Issue.record("It ran without a realm.") }
    }

    @Suite(RealmTrait(.init(), scope: .suite, ifMissing: .fail, check: FixtureRun.findNoProgram))
    struct Missing {
        @Test func `a test of a failed suite never runs`() { Issue.record("It ran without a realm.") }
    }
}
