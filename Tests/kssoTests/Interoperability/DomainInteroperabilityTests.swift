import Foundation
import KerberosTesting
import TestSupport
import Testing

/// Changes alice's password in a suite's domain with `ksso passwd`, before its tests.
private struct PasswordChangeTrait: SuiteTrait, TestScoping {
    static let former = "Secret-1x"
    static let current = "Different-2y"

    var isRecursive: Bool { false }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let station = try Workstation()
        try station.install(profile(realm: station.realm.name))
        let change = try await station.ksso("passwd", "alice", "--password-stdin", input: "\(Self.former)\n\(Self.current)\n")
        try #require(change.exitStatus == 0, "\(change)")
        try await function()
    }
}

extension TestDomainOptions {
    fileprivate static let matrix: TestDomainOptions = {
        let alice = User("alice", password: PasswordChangeTrait.former, principalName: "alice.liddell@mail.test")
        var options = TestDomainOptions(users: [alice], services: ["HTTP/localhost"])
        options.acceptsCertificates = true
        options.pluginDirectory = LoadableLibrary.pkinit.map { "\($0.folder)/krb5/plugins" }
        return options
    }()
}

/// Every server and client with a domain of Samba's, by other ways than a password that alice has had from the beginning.
@Suite(
    .needsDomain,
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .enabled(if: LoadableLibrary.card != nil, "softhsm2 is missing: Scripts/install-packages unpacks it"),
    .enabled(if: LoadableLibrary.kdcProxyPlugins != nil, "krb5-k5tls is missing: Scripts/install-packages unpacks it"),
    .testDomain(.matrix),
    PasswordChangeTrait()
)
struct InteroperabilityDomainTests {
    @Test("Samba AD, changed password", arguments: InteroperabilityCell.all)
    func greetsAfterPasswordChange(cell: InteroperabilityCell) async throws {
        let domain = try #require(TestDomainTrait.current)
        let greeting = try await cell.greeting(of: domain.realm, with: .password(PasswordChangeTrait.current))
        #expect(greeting == "Hello alice@AD.TEST\n")
    }

    @Test("Samba AD, certificate", arguments: InteroperabilityCell.all)
    func greetsCertificateOwner(cell: InteroperabilityCell) async throws {
        let domain = try #require(TestDomainTrait.current)
        let certificate = try await domain.certificate(for: "alice.liddell@mail.test")
        let library = try #require(LoadableLibrary.card)
        let label = "Card \(UUID().uuidString.prefix(8))"
        let card = try await SmartCard(label, certificates: ["alice": certificate], library: library, realm: domain.realm)
        let greeting = try await cell.greeting(of: domain.realm, with: .certificate(certificate, card))
        #expect(greeting == "Hello alice@AD.TEST\n")
    }

    @Test("Samba AD, KDC proxy", arguments: InteroperabilityCell.all)
    func greetsThroughProxy(cell: InteroperabilityCell) async throws {
        let domain = try #require(TestDomainTrait.current)
        let plugins = LoadableLibrary.kdcProxyPlugins
        try await withKDCProxy(realm: domain.realm, kdc: (domain.address, 88), pluginDirectory: plugins) { proxy in
            try await proxy.replacingKDC(of: domain.realm) { setting in
                let realm = try #require(TestRealm.current)
                let password = SignInProof.password(PasswordChangeTrait.current)
                #expect(try await cell.greeting(of: realm, with: password, settings: setting) == "Hello alice@AD.TEST\n")
            }
        }
    }
}
