import Foundation
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

private let password = "Secret-1x"
/// Nothing listens there.
private let closed = TestDomain.freeAddress()
/// Ports are open there, and nothing answers.
private let silent = [TestDomain.freeAddress(), TestDomain.freeAddress()]

extension TestDomainOptions {
    fileprivate static let withSites: TestDomainOptions = {
        var options = TestDomainOptions(
            users: ["alice", "bob"].map { .init($0, password: password) },
            sites: ["Berlin": ["127.0.0.0/8"], "Paris": []]
        )
        options.controllers = [
            .init("a-silent", address: silent[0], site: "Berlin"), .init("b-silent", address: silent[1], site: "Berlin"),
            .init("c-closed", address: closed, site: "Paris"),
        ]
        return options
    }()
}

/// Sites: the controllers of a domain that are near, and that answer, come first.
@Suite(.serialized, .needsDomain, .needsNameServer, .testDomain(.withSites))
struct DomainSiteTests {
    let station: Workstation
    let domain: TestDomain
    private let silence: [SilentAddress]

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        silence = try silent.map { try SilentAddress($0, ports: [88, 389, 464]) }
        try station.install(profile(realm: domain.realm.name))
    }

    /// With the time limit that users have. A busy machine may take longer, so that it has several attempts.
    @Test func `the site is found within the default time`() async throws {
        let environment = ["KSSO_SITE_TIMEOUT": ""]
        var output = ""
        for _ in 1...5 where !output.contains(#""site" : "Berlin""#) {
            let words = ["login", "alice", "--password-stdin", "--force"]
            let login = try await station.ksso(in: domain, words, input: "\(password)\n", environment: environment)
            #expect(login.exitStatus == 0, "\(login)")
            output = try await station.ksso(in: domain, "status", "--json", environment: environment).output
        }
        #expect(output.contains(#""site" : "Berlin""#), "\(output)")
    }

    private func login(trace: String? = nil) async throws -> CommandResult {
        try await station.ksso(
            in: domain,
            "login",
            "alice",
            "--password-stdin",
            "--force",
            input: "\(password)\n",
            environment: trace.map { ["KRB5_TRACE": $0] } ?? [:]
        )
    }

    @Test func `the site of the network is found, remembered and shown`() async throws {
        let result = try await login()
        #expect(result.output.hasPrefix("alice@AD.TEST is signed in until "), "\(result)")
        let status = try await station.ksso(in: domain, "status", "--json")
        #expect(status.output.contains(#""site" : "Berlin""#), "\(status)")
        let text = try await station.ksso(in: domain, "status")
        #expect(text.output.contains("    in the site Berlin\n"), "\(text)")
        let file = try String(contentsOfFile: "\(station.directory)/cached/ksso/sites.json", encoding: .utf8)
        #expect(file.contains(#""site" : "Berlin""#), "\(file)")
    }

    @Test func `a name in another case becomes that of the account, so that the user has one session`() async throws {
        #expect(try await login().exitStatus == 0)
        let words = ["login", "ALICE@AD.TEST", "--password-stdin", "--force"]
        let result = try await station.ksso(in: domain, words, input: "\(password)\n")
        #expect(result.output.hasPrefix("ALICE@AD.TEST is alice@AD.TEST.\nalice@AD.TEST is signed in until "), "\(result)")
        let status = try await station.ksso(in: domain, "status", "--json")
        #expect(try StatusDocument(json: status.output).sessions.map(\.principal) == ["alice@AD.TEST"], "\(status)")
    }

    /// libkrb5 would wait for each silent one in turn: DNS lists them in any order.
    @Test func `controllers that do not answer are tried last`() async throws {
        let trace = "\(station.directory)/trace"
        let result = try await login(trace: trace)
        #expect(result.exitStatus == 0, "\(result)")
        let lines = try String(contentsOfFile: trace, encoding: .utf8)
        #expect(lines.contains("stream \(domain.address):88"), "\(lines)")
        for address in silent + [closed] { #expect(!lines.contains(address), "\(lines)") }
    }

    /// DNS lists the silent controllers as password servers too, with much more weight.
    @Test func `a password is changed at the controller that answers`() async throws {
        let trace = "\(station.directory)/passwd-trace"
        let change = try await station.ksso(
            in: domain,
            "passwd",
            "bob",
            "--password-stdin",
            input: "\(password)\nOther-2y\n",
            environment: ["KRB5_TRACE": trace]
        )
        #expect(change.exitStatus == 0, "\(change)")
        let lines = try String(contentsOfFile: trace, encoding: .utf8)
        #expect(lines.contains("\(domain.address):464"), "\(lines)")
        for address in silent + [closed] { #expect(!lines.contains(address), "\(lines)") }
        let login = try await station.ksso(in: domain, "login", "bob", "--password-stdin", input: "Other-2y\n")
        #expect(login.output.hasPrefix("bob@AD.TEST is signed in until "), "\(login)")
    }

    @Test func `the doctor names the site and its controllers`() async throws {
        _ = try await login()
        let diagnosis = try await station.doctor(in: domain, environment: Workstation.usualPatience)
        let site = try #require(diagnosis.checks.first { $0.name == "site" }, "\(diagnosis)")
        #expect(site.verdict == .ok, "\(site)")
        let list = "the controllers of AD.TEST in the order of a sign-in: dc1.ad.test:88 ("
        #expect(site.detail.hasPrefix("the site is Berlin; \(list)"), "\(site)")
        #expect(site.detail.contains(", a-silent.ad.test:88"), "\(site)")
    }

    @Test func `a site of the profile takes precedence over the one of the network`() async throws {
        try station.install(profile(realm: domain.realm.name, data: ["siteCode: Paris"]))
        let diagnosis = try await station.doctor(in: domain, environment: Workstation.usualPatience)
        let site = try #require(diagnosis.checks.first { $0.name == "site" }, "\(diagnosis)")
        #expect(site.detail.hasPrefix("the site is Paris, which the profile names; "), "\(site)")
        #expect(try await login().exitStatus == 0)
    }

    @Test func `a site that DNS does not know is reported`() async throws {
        try station.install(profile(realm: domain.realm.name, data: ["siteCode: Atlantis"]))
        let first = try #require(try await station.doctor(in: domain, environment: Workstation.usualPatience).firstFailure)
        #expect(first.name == "site" && first.detail.contains("_kerberos._tcp.Atlantis._sites.dc._msdcs.AD.TEST"), "\(first)")
        // The sign-in uses the controllers of the domain.
        #expect(try await login().exitStatus == 0)
    }

    @Test func `nothing is looked for if the profile forbids it`() async throws {
        try station.install(profile(realm: domain.realm.name, data: ["useSiteAutoDiscovery: false"]))
        let status = try await station.ksso(in: domain, "doctor", "--json", environment: Workstation.usualPatience)
        #expect(!status.output.contains(#""name" : "site""#), "\(status)")
    }
}
