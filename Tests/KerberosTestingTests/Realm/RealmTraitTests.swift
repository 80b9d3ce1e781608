import Foundation
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import Testing

/// The effect of the realm trait on a test run: `Fixtures` in a separate process.
@Suite(.testRealm()) struct RealmTraitTests {
    let realm: TestRealm
    let attachments: String

    init() throws {
        realm = try #require(TestRealm.current)
        attachments = "\(realm.directory)/attachments-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: attachments, withIntermediateDirectories: false)
    }

    private func run(_ filter: String) async throws -> CommandResult {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return try await realm.run(
            program,
            ["--testing-library", "swift-testing", "--filter", "Fixtures.*\(filter)", "--attachments-path", attachments],
            environment: [FixtureRun.variable: "1"]
        )
    }

    private func attached() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: attachments))
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(attachments)/\(name)", encoding: .utf8)
    }

    private static let files = ["kdc.log", "kdc-0.log", "kdc-1.log", "krb5.conf", "kdc.conf", "kdc-1.conf"]

    @Test(arguments: [("expectation", "for alice@SHARED.TEST"), ("throws", "Password"), ("Nested.*fails", "")])
    func `a failing test attaches the logs of its realm`(test: String, trace: String) async throws {
        let result = try await run("SharedRealm.*\(test)")
        #expect(result.exitStatus != 0)
        var names = Set(Self.files.map { "SHARED.TEST-\($0)" })
        if !trace.isEmpty { names.insert("SHARED.TEST-trace.log") }
        #expect(try names.isSubset(of: attached()), "\(result.output)\(result.errors)")
        #expect(try text("SHARED.TEST-kdc.log").contains("AS_REQ"))
        #expect(try text("SHARED.TEST-krb5.conf").contains("default_realm = SHARED.TEST"))
        if !trace.isEmpty { #expect(try text("SHARED.TEST-trace.log").contains("alice@SHARED.TEST")) }
    }

    @Test(arguments: ["succeeds", "known"])
    func `a passing test attaches nothing`(test: String) async throws {
        let result = try await run("SharedRealm.*\(test)")
        #expect(result.exitStatus == 0, "\(result.output)\(result.errors)")
        #expect(try attached().isEmpty)
    }

    @Test func `a failing test with a realm of its own attaches that realm's logs`() async throws {
        #expect(try await run("OwnRealm.*fails").exitStatus != 0)
        #expect(try attached().contains("OWN.TEST-kdc.log"))
    }

    @Test func `the scope of the trait determines which tests share a realm`() async throws {
        let result = try await run("prints")
        #expect(result.exitStatus == 0, "\(result.output)\(result.errors)")
        let lines = result.output.split(separator: "\n").filter { $0.hasPrefix("realm ") }.map { $0.split(separator: " ") }
        let realms = Dictionary(lines.map { (String($0[1]), String($0[2])) }) { first, _ in first }
        let each = ["each", "within", "within-too", "innermost"]
        #expect(Set(realms.keys) == Set(each + ["tells-0", "tells-1", "nested", "inner", "first", "case-0", "case-1"]))
        #expect(Set(["tells-0", "tells-1", "nested"].map { realms[$0] }).count == 1)
        #expect(Set(["inner", "nested", "first", "case-0", "case-1"].map { realms[$0] }).count == 5)
        // The innermost trait applies, even if an outer one creates its realm later.
        let names = Dictionary(lines.map { (String($0[1]), String($0[3])) }) { first, _ in first }
        #expect(each.map { names[$0] } == ["EACH.TEST", "WITHIN.TEST", "WITHIN.TEST", "INNERMOST.TEST"])
        #expect((realms["within"], names["inner"], names["nested"]) == (realms["within-too"], "INNER.TEST", "SHARED.TEST"))
        for directory in realms.values { expectGone(directory) }
    }

    @Test(arguments: ["Skipped\\/", "SkippedEach"])
    func `tests are skipped with the reason if programs are missing`(suite: String) async throws {
        let result = try await run(suite)
        #expect(result.exitStatus == 0, "\(result.output)\(result.errors)")
        #expect((result.output + result.errors).contains("apt-get install krb5-kdc"))
    }

    @Test func `tests fail if programs are missing and the trait does not skip them`() async throws {
        let result = try await run("Missing")
        #expect(result.exitStatus != 0)
        #expect((result.output + result.errors).contains("apt-get install krb5-kdc"))
        #expect(!(result.output + result.errors).contains("It ran without a realm."))
    }

    @Test(.enabled(if: !LibraryPlugin.pkinit.isInstalled, "krb5-pkinit is installed"))
    func `tests are skipped with the reason if a plugin is missing`() async throws {
        let result = try await run("Certificates\\/")
        #expect(result.exitStatus == 0, "\(result.output)\(result.errors)")
        #expect((result.output + result.errors).contains("krb5-pkinit"))
    }

    @Test func `all programs of a realm are installed`() throws {
        try TestRealm.checkPrograms()
    }

    @Test(arguments: [
        (TestRealmOptions(acceptsPasswordChanges: true), "kadmind"), (TestRealmOptions(acceptsCertificates: true), "openssl"),
    ])
    func `some options require further programs`(options: TestRealmOptions, program: String) {
        func find(_ name: String) throws {
            if name == program { throw KerberosTestingError(.programMissing, name) }
        }
        #expect(throws: Never.self) { try TestRealm.checkPrograms(for: .init(), find) }
        let error = #expect(throws: KerberosTestingError.self) { try TestRealm.checkPrograms(for: options, find) }
        #expect(error?.message == program)
    }
}
