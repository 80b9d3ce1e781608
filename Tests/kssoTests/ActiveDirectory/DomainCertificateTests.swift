import Foundation
import KerberosTesting
import TestSupport
import Testing

private let password = "Secret-1x"

extension TestDomainOptions {
    fileprivate static let withCertificates: TestDomainOptions = {
        var options = TestDomainOptions(users: [
            .init("alice", password: password, principalName: "alice.liddell@mail.test"), .init("bob", password: password),
        ])
        options.acceptsCertificates = true
        options.pluginDirectory = LoadableLibrary.pkinit.map { "\($0.folder)/krb5/plugins" }
        return options
    }()
}

/// Sign-ins with certificates that name a user as Windows does, at a domain controller.
@Suite(
    .serialized,
    .needsDomain,
    .enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"),
    .testDomain(.withCertificates)
)
struct DomainCertificateTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name))
    }

    @Test(arguments: [("alice", "alice.liddell@mail.test", "alice"), ("alice.liddell@mail.test", "alice.liddell@mail.test", "alice")])
    func `a certificate signs in the user whose user principal name it contains`(
        name: String,
        userPrincipalName: String,
        account: String
    ) async throws {
        let identity = try await domain.certificate(for: userPrincipalName).identity
        let result = try await station.ksso("login", name, "--certificate", identity)
        #expect(result.exitStatus == 0 && result.output.contains("\(account)@AD.TEST is signed in until "), "\(result)")
    }

    @Test func `the certificate of another user is refused`() async throws {
        let identity = try await domain.certificate(for: "alice.liddell@mail.test").identity
        let result = try await station.ksso("login", "bob", "--certificate", identity)
        #expect(result.exitStatus == 1 && result.errors.contains("the certificate belongs to another principal"), "\(result)")
    }

    @Test(.enabled(if: LoadableLibrary.card != nil, "softhsm2 is missing: Scripts/install-packages unpacks it"))
    func `a smart card signs in at a domain controller`() async throws {
        // "bob" is the name in bob's certificate. "alice" is in none, because hers has the user principal name.
        let alice = try await domain.certificate(for: "alice.liddell@mail.test")
        let bob = try await domain.certificate(for: "bob@ad.test")
        let library = try #require(LoadableLibrary.card)
        let card = try await SmartCard("Staff card", certificates: ["alice": alice, "bob": bob], library: library, realm: domain.realm)
        for (name, identity) in [
            ("bob", card.identity()), ("alice.liddell@mail.test", card.identity()), ("alice", card.identity(certificate: "alice")),
        ] {
            let words = ["login", name, "--force", "--certificate", identity, "--password-stdin"]
            let result = try await station.run(["ksso"] + words, input: "\(SmartCard.pin)\n", environment: card.environment)
            let account = name == "bob" ? "bob" : "alice"
            #expect(result.exitStatus == 0 && result.output.contains("\(account)@AD.TEST is signed in until "), "\(name): \(result)")
        }
    }
}
