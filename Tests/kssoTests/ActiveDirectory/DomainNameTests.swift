import Foundation
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

private let password = "Secret-1x"

extension TestDomainOptions {
    /// The domain has a site without subnets. With a single subnet, Samba assigns its site to every network.
    fileprivate static let withNames: TestDomainOptions = {
        var options = TestDomainOptions(
            users: [
                .init("alice", password: password, principalName: "alice.liddell@mail.test"), .init("bob", password: password),
                .init("carol", password: password, principalName: "carol@mail.test"),
            ],
            sites: ["Berlin": []]
        )
        options.netBIOSName = "WONDER"
        return options
    }()
}

/// Names as users of Windows type them, in a domain whose NetBIOS name is not the first label of its realm.
@Suite(.serialized, .needsDomain, .testDomain(.withNames))
struct DomainNameTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name))
    }

    private func login(_ name: String) async throws -> CommandResult {
        try await station.ksso("login", name, "--password-stdin", input: "\(password)\n")
    }

    @Test(arguments: ["alice", "alice@ad.test", "ALICE@Ad.Test", #"AD\alice"#, #"ad\alice"#, " alice ", "alice@AD.TEST"])
    func `a name of the domain becomes the principal`(name: String) async throws {
        let result = try await login(name)
        #expect(result.output.hasPrefix("\(name.hasPrefix("ALICE") ? "ALICE" : "alice")@AD.TEST is signed in until "), "\(result)")
        #expect(result.errors == "", "\(result)")
    }

    @Test func `a user principal name becomes the canonical principal, by which the session is known`() async throws {
        let result = try await login("alice.liddell@mail.test")
        let lines = result.output.split(separator: "\n")
        #expect(lines.first == "alice.liddell@mail.test is alice@AD.TEST.", "\(result)")
        #expect(lines.last?.hasPrefix("alice@AD.TEST is signed in until ") == true && result.errors == "", "\(result)")
        // Both names mean the session.
        let again = try await login("alice.liddell@mail.test")
        #expect(again.output.hasPrefix("alice@AD.TEST is signed in already"), "\(again)")
        let klist = try await station.run(["klist", "-l"])
        #expect(klist.output.contains("alice@AD.TEST") && !klist.output.contains("mail.test"), "\(klist)")
        #expect(try await station.ksso("logout", "alice.liddell@mail.test") == .done("alice@AD.TEST is signed out.\n"))
        let refresh = try await station.ksso("refresh", "alice.liddell@mail.test")
        #expect(refresh.errors.contains("ksso login alice.liddell@mail.test") && !refresh.errors.contains(#"\@"#), "\(refresh)")
    }

    @Test func `the principal of a profile can be a user principal name`() async throws {
        try station.install(profile(realm: domain.realm.name, data: ["principalName: alice.liddell@mail.test"]))
        let result = try await station.ksso("login", "--password-stdin", input: "\(password)\n")
        #expect(result.output.contains("alice@AD.TEST is signed in until "), "\(result)")
        let header = try await station.ksso("explain", "https://localhost/")
        #expect(header.output.contains("alice@AD.TEST"), "\(header)")
    }

    @Test func `a wrong password of a user principal name is reported as such`() async throws {
        let result = try await station.ksso("login", "alice.liddell@mail.test", "--password-stdin", input: "wrong\n")
        let sentence = "alice.liddell@mail.test: the password is wrong (preauthentication failed). "
        #expect(result == .failure(1, "\(sentence)Try again with: ksso login alice.liddell@mail.test"), "\(result)")
    }

    /// The stored password is that of the account, whatever name was used.
    @Test func `a password is changed under a user principal name`() async throws {
        let change = try await station.ksso(
            "passwd",
            "carol@mail.test",
            "--password-stdin",
            input: "\(password)\nOther-2y\n"
        )
        #expect(change.exitStatus == 0 && change.output.contains("carol@AD.TEST"), "\(change)")
        let login = try await station.ksso("login", "carol@mail.test", "--password-stdin", input: "Other-2y\n")
        #expect(login.output.contains("carol@AD.TEST is signed in until "), "\(login)")
    }

    @Test func `an explicit realm wins over that of a Windows domain`() async throws {
        let words = [#"OTHER\alice"#, "--realm", "AD.TEST", "--password-stdin"]
        let result = try await station.run(["ksso", "login"] + words, input: "\(password)\n")
        #expect(result.output.hasPrefix("alice@AD.TEST is signed in until "), "\(result)")
    }

    @Test func `an unknown user principal name is reported with what to write`() async throws {
        let result = try await login("nobody@mail.test")
        #expect(result.exitStatus == 1, "\(result)")
        #expect(result.errors.contains("nobody@mail.test: the KDC of AD.TEST knows no user principal name nobody@mail.test."), "\(result)")
    }

    @Test(.needsNameServer)
    func `a controller returns the NetBIOS name of its domain`() async throws {
        let result = try await station.ksso(in: domain, "login", #"wonder\bob"#, "--password-stdin", input: "\(password)\n")
        #expect(result.output.hasPrefix("bob@AD.TEST is signed in until "), "\(result)")
    }

    @Test(.needsNameServer)
    func `a network without a site is reported`() async throws {
        let diagnosis = try await station.doctor(in: domain)
        let site = try #require(diagnosis.checks.first { $0.name == "site" }, "\(diagnosis)")
        #expect(site.verdict == .warning && site.detail.hasPrefix("the domain assigns no site to this machine's network; "), "\(site)")
        #expect(site.remedy?.contains("Active Directory Sites and Services") == true, "\(site)")
    }

    @Test func `an unknown Windows domain is reported with what to write`() async throws {
        let result = try await login(#"OTHER\alice"#)
        let sentence = "no known realm is the Windows domain OTHER. Write the user and the realm, such as alice@REALM."
        #expect(result == .failure(1, #"OTHER\alice: \#(sentence)"#), "\(result)")
    }
}
