import Foundation
import KerberosTesting
import TestSupport
import Testing

private let password = "Secret-1x"

extension TestDomainOptions {
    fileprivate static let withPasswordRules: TestDomainOptions = {
        var options = TestDomainOptions(users: [
            .init("alice", password: password), .init("bob", password: password),
            .init("carol", password: password, attributes: ["pwdLastSet": "0"]),
        ])
        options.attributes = ["minPwdLength": "9"]
        return options
    }()
}

/// Passwords that are changed at a domain controller, and its refusals.
@Suite(.serialized, .needsDomain, .needsNameServer, .testDomain(.withPasswordRules))
struct DomainPasswordTests {
    let station: Workstation
    let domain: TestDomain

    init() throws {
        domain = try #require(TestDomainTrait.current)
        station = try Workstation(realm: domain.realm)
        try station.install(profile(realm: domain.realm.name))
    }

    private func change(_ name: String, from old: String, to new: String) async throws -> CommandResult {
        try await station.ksso(in: domain, "passwd", name, "--password-stdin", input: "\(old)\n\(new)\n")
    }

    private func signIn(_ name: String, _ password: String) async throws {
        let result = try await station.ksso(in: domain, "login", name, "--password-stdin", "--force", input: "\(password)\n")
        #expect(result.exitStatus == 0, "\(result)")
    }

    /// The controller sends its rules, and not which of them the password violates.
    @Test(arguments: [
        ("Sh-1x", "It requires at least 9 characters."), ("only-lower-case", "It requires characters of three kinds: "),
    ])
    func `a refused password names the rule that it violates first`(new: String, sentence: String) async throws {
        try await signIn("alice", password)
        let result = try await change("alice", from: password, to: new)
        #expect(result.exitStatus == 1, "\(result)")
        #expect(result.errors.contains("alice@AD.TEST: the domain refused the new password. \(sentence)"), "\(result)")
        #expect(result.errors.contains("The domain AD.TEST requires at least 9 characters; three of: "), "\(result)")
    }

    @Test func `a former password is refused with a hint at the history`() async throws {
        try await signIn("bob", password)
        let first = try await change("bob", from: password, to: "Different-2y")
        #expect(first.exitStatus == 0, "\(first)")
        try await signIn("bob", "Different-2y")
        let back = try await change("bob", from: "Different-2y", to: password)
        #expect(back.exitStatus == 1, "\(back)")
        let sentence = "bob@AD.TEST: the domain refused the new password. It may be one of the last 24 passwords."
        #expect(back.errors.contains(sentence), "\(back)")
    }

    @Test func `a password that must be changed is changed during the sign-in`() async throws {
        let refused = try await station.ksso("login", "carol", "--password-stdin", input: "\(password)\n")
        #expect(refused.exitStatus != 0 && refused.errors.contains("ksso passwd carol@AD.TEST"), "\(refused)")
        let (status, _) = try await Conversation.atTerminal("exec ksso login carol", on: station) { terminal in
            try await terminal.wait(for: "Password for carol@AD.TEST: ")
            try await terminal.type("\(password)\n")
            try await terminal.wait(for: "New password: ")
            try await terminal.type("Different-2y\n")
            try await terminal.wait(for: "New password again: ")
            try await terminal.type("Different-2y\n")
            try await terminal.wait(for: "carol@AD.TEST is signed in until ")
        }
        #expect(status == 0)
    }
}
