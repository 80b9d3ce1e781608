import Foundation
import KerberosTesting
import KerberosTestingTraits
import Testing

/// How `RealmTraitTests` and its fixtures speak to each other.
enum FixtureRun {
    static let variable = "KERBEROS_TESTING_FIXTURES"
    static var isThis: Bool { ProcessInfo.processInfo.environment[variable] != nil }

    /// Which realm a test has, for the parent to read.
    static func tellRealm(_ test: String) throws {
        let realm = try #require(TestRealm.current)
        print("realm \(test) \(realm.directory) \(realm.name)")
    }

    @Sendable static func nothingIsThere() throws {
        _ = try Program.path(of: "krb5kdc", environment: ["PATH": "/nonexistent"], systemFolders: [])
    }
}

/// Suites that `RealmTraitTests` runs in a process of their own, since some of them fail; elsewhere they are skipped.
@Suite(.enabled(if: FixtureRun.isThis, "RealmTraitTests runs these in a process of their own"))
enum Fixtures {
    @Suite(.testRealm(.init(name: "SHARED.TEST", users: ["alice": "secret"], kdcCount: 2)))
    struct SharedRealm {
        @Test func `expects`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "secret")
            #expect(Bool(false), "as meant by the fixture")
        }

        @Test func `throwing`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "wrong")
        }

        @Test func `succeeds`() async throws {
            try await #require(TestRealm.current).kinit("alice", password: "secret")
        }

        @Test func `is known`() async throws {
            withKnownIssue { Issue.record("as meant by the fixture") }
        }

        @Test(arguments: 0..<2)
        func `tells`(number: Int) throws { try FixtureRun.tellRealm("tells-\(number)") }

        @Suite struct Nested {
            @Test func `tells`() throws { try FixtureRun.tellRealm("nested") }
            @Test func `nested fails`() throws { Issue.record("as meant by the fixture") }
        }

        @Suite(.testRealm(.init(name: "INNER.TEST"))) struct Inner {
            @Test func `tells`() throws { try FixtureRun.tellRealm("inner") }
        }
    }

    @Suite(.testRealm(.init(name: "OWN.TEST"), scope: .test))
    struct OwnRealm {
        @Test func `tells`() throws { try FixtureRun.tellRealm("first") }
        @Test(arguments: 0..<2)
        func `tells`(number: Int) throws { try FixtureRun.tellRealm("case-\(number)") }
        @Test func `own fails`() throws { Issue.record("as meant by the fixture") }
    }

    @Suite(.testRealm(.init(name: "EACH.TEST"), scope: .test))
    struct EachRealm {
        @Test func `tells`() throws { try FixtureRun.tellRealm("each") }

        @Suite(.testRealm(.init(name: "WITHIN.TEST"))) struct Within {
            @Test func `tells`() throws { try FixtureRun.tellRealm("within") }
            @Test func `tells too`() throws { try FixtureRun.tellRealm("within-too") }
            @Test(.testRealm(.init(name: "INNERMOST.TEST"))) func `tells of its own`() throws { try FixtureRun.tellRealm("innermost") }
        }
    }

    @Suite(.testRealm(.init(acceptsCertificates: true), ifMissing: .skip))
    struct Certificates {
        @Test func `needs the plugin`() throws { _ = try #require(TestRealm.current) }
    }

    @Suite(RealmTrait(.init(), scope: .suite, ifMissing: .skip, check: FixtureRun.nothingIsThere))
    struct Skipped {
        @Test func `never runs`() { Issue.record("It ran without a realm.") }
    }

    @Suite(RealmTrait(.init(), scope: .test, ifMissing: .skip, check: FixtureRun.nothingIsThere))
    struct SkippedEach {
        @Test func `never runs either`() { Issue.record("It ran without a realm.") }
    }

    @Suite(RealmTrait(.init(), scope: .suite, ifMissing: .fail, check: FixtureRun.nothingIsThere))
    struct Missing {
        @Test func `never runs`() { Issue.record("It ran without a realm.") }
    }
}
