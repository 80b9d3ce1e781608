import Foundation
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Every server and client with an MIT KDC in its default configuration.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct InteroperabilityMITTests {
    @Test("MIT KDC", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        #expect(try await cell.greeting(of: realm, with: .password("secret")) == "Hello alice@EXAMPLE.TEST\n")
    }
}

/// Every server and client with a KDC that accepts a password only in FAST armor.
@Suite(.testRealm(TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], demandsFAST: true)))
struct InteroperabilityFASTTests {
    @Test("KDC that demands FAST", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        let greeting = try await cell.greeting(of: realm, with: .password("secret"), settings: "ArmorCache: \(realm.armorCache())")
        #expect(greeting == "Hello alice@EXAMPLE.TEST\n")
    }

    /// Shows that the other tests of this suite need the armor.
    @Test func `a KDC that demands FAST refuses a sign-in without armor`() async throws {
        let station = try Workstation()
        try station.install(profile())
        let login = try await station.ksso("login", "alice", "--password-stdin", "--quiet", input: "secret\n")
        #expect(login.exitStatus != 0 && login.errors.contains("--armor-cache"), "\(login)")
    }
}

/// Gives a suite a realm whose KDC can be reached only through a KDC proxy (MS-KKDCP), which a profile must name: ``setting``.
private struct ProxiedRealmTrait: SuiteTrait, TestScoping {
    @TaskLocal static var setting = ""

    var isRecursive: Bool { false }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let plugins = LoadableLibrary.kdcProxyPlugins
        let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"], pluginDirectory: plugins)
        try await withTestRealm(options) { realm in
            try await withKDCProxy(realm: realm) { proxy in
                try await proxy.replacingKDC(of: realm) { setting in
                    try await Self.$setting.withValue(setting) { try await function() }
                }
            }
        }
    }
}

extension KDCProxy {
    /// Runs a closure with a realm whose KDC only the proxy reaches.
    ///
    /// - Parameter body: The closure, which receives the setting of a profile that names the proxy.
    func replacingKDC(of realm: TestRealm, _ body: (String) async throws -> Void) async throws {
        let path = "\(realm.directory)/proxied-\(UUID().uuidString).conf"
        try configurationWithoutKDC().write(toFile: path, atomically: true, encoding: .utf8)
        let existing = ExistingRealm(realm.name, configurationPath: path, keytabPath: realm.keytabPath)
        try await withExistingRealm(existing) { _ in
            try await body("  preferredKDCs: ['\(url.replacing("https:", with: "kkdcp:"))']")
        }
    }
}

/// Every server and client with an MIT KDC that only a KDC proxy reaches.
@Suite(
    .enabled(if: LoadableLibrary.kdcProxyPlugins != nil, "krb5-k5tls is missing: Scripts/install-packages unpacks it"),
    ProxiedRealmTrait()
)
struct InteroperabilityProxyTests {
    @Test("KDC proxy", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        let greeting = try await cell.greeting(of: realm, with: .password("secret"), settings: ProxiedRealmTrait.setting)
        #expect(greeting == "Hello alice@EXAMPLE.TEST\n")
    }
}

/// Every server and client with Active Directory: the domain that the folder in `INTEROP_AD` describes (page Interoperability), or else a
/// domain of Samba's.
@Suite(
    .enabled(if: ActiveDirectoryTrait.obstacle == nil, "no domain can be run here: \(ActiveDirectoryTrait.obstacle ?? "")"),
    .activeDirectory
)
struct InteroperabilityADTests {
    @Test("Samba AD", arguments: InteroperabilityCell.all)
    func `greets`(cell: InteroperabilityCell) async throws {
        let realm = try #require(TestRealm.current)
        let greeting = try await cell.greeting(of: realm, with: .password(try ActiveDirectoryTrait.password()))
        #expect(greeting == "Hello alice@\(realm.name)\n")
    }
}
