import TestSupport
import Testing

@testable import Kerberos

@Suite struct PrincipalTests {
    struct Table: Decodable {
        let accepted: [Accepted]
        let refused: [Refused]
    }

    struct Accepted: Decodable, Sendable, CustomTestStringConvertible {
        let text: String
        let defaultRealm: String?
        let components: [String]
        let realm: String
        let description: String
        var testDescription: String { text }
    }

    struct Refused: Decodable, Sendable, CustomTestStringConvertible {
        let text: String
        let defaultRealm: String?
        var testDescription: String { "\(text.debugDescription), \(defaultRealm.debugDescription)" }
    }

    @Test(arguments: try FixtureFile.load("principals", in: .module, as: Table.self).accepted)
    func `principal names are parsed and printed again`(row: Accepted) throws {
        let principal = try Principal(row.text, defaultRealm: row.defaultRealm)
        #expect(principal.components == row.components)
        #expect(principal.realm == row.realm)
        #expect(principal.description == row.description)
        #expect(try Principal(principal.description) == principal)
    }

    @Test(arguments: try FixtureFile.load("principals", in: .module, as: Table.self).refused)
    func `malformed principal names are rejected`(row: Refused) async {
        let error = await expectFailure(.malformedPrincipal) { _ = try Principal(row.text, defaultRealm: row.defaultRealm) }
        #expect(error?.subject == row.text)
    }

    /// libkrb5 would drop the backslash: `CORPalice@EXAMPLE.COM`.
    @Test(arguments: [
        (#"CORP\alice"#, "EXAMPLE.COM", "alice@EXAMPLE.COM"), (#"CORP\alice"#, nil, "alice@REALM"),
        (#"CORP\alice@OTHER.COM"#, "EXAMPLE.COM", "alice@OTHER.COM"), (#"CORP\bob"#, "EXAMPLE.COM", "bob@EXAMPLE.COM"),
        (#"CORP\nancy@OTHER.COM"#, nil, "nancy@OTHER.COM"), (#"a\b\c@OTHER.COM"#, nil, "name@REALM"),
    ])
    func `a Windows logon name is rejected with the principal to use instead`(text: String, realm: String?, advice: String) async {
        let error = await expectFailure(.malformedPrincipal) { _ = try Principal(typed: text, defaultRealm: realm) }
        #expect(error?.message.contains(advice) == true && error?.subject == text, "\(String(describing: error))")
    }

    @Test(arguments: [#"CORP\alice@EXAMPLE.COM"#, #"CORP\alice"#])
    func `a backslash that escapes nothing is rejected and not dropped`(text: String) async {
        await expectFailure(.malformedPrincipal) { _ = try Principal(text, defaultRealm: "EXAMPLE.COM") }
    }

    @Test(arguments: [#"alice\@work@A.COM"#, "alice/admin@A.COM", #"a\\b@A.COM"#, "HTTP/www.example.com@"])
    func `a principal can be moved to another realm`(text: String) throws {
        let principal = try Principal(text)
        let moved = principal.inRealm("OTHER.COM")
        #expect(moved == (try Principal(moved.description)))
        #expect(moved.components == principal.components && moved.realm == "OTHER.COM")
    }

    @Test(arguments: [
        ("HTTP", "www.example.com", "EXAMPLE.COM", "HTTP/www.example.com@EXAMPLE.COM"),
        ("HTTP", "www.example.com", nil, "HTTP/www.example.com@"),
        ("HTTP", "evil@OTHER.COM", "EXAMPLE.COM", "HTTP/evil\\@OTHER.COM@EXAMPLE.COM"),
        ("HTTP", "a/b", "EXAMPLE.COM", "HTTP/a\\/b@EXAMPLE.COM"),
        ("HTTP", "a\\", "EXAMPLE.COM", "HTTP/a\\\\@EXAMPLE.COM"),
        ("HT/TP", "host", nil, "HT\\/TP/host@"),
    ])
    func `a service principal has two components whatever its host contains`(service: String, host: String, realm: String?, text: String)
        throws
    {
        let principal = try Principal(service: service, host: host, realm: realm)
        #expect(principal.components == [service, host])
        #expect(principal.realm == realm ?? "")
        #expect(principal.description == text)
    }

    @Test func `a host with a NUL is rejected`() async {
        await expectFailure(.malformedPrincipal) { _ = try Principal(service: "HTTP", host: "www.example.com\0.evil.test") }
    }

    @Test(arguments: [
        ("krbtgt/A.TEST@A.TEST", true), ("krbtgt/B.TEST@A.TEST", true), ("krbtgt@A.TEST", false), ("HTTP/krbtgt@A.TEST", false),
        ("krbtgt/A/B@A.TEST", false),
    ])
    func `a ticket-granting service is recognized by its name`(text: String, isOne: Bool) throws {
        #expect(try Principal(text).isTicketGrantingService == isOne)
    }

    @Test func `many tasks parse principals concurrently`() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask { try Principal("user\(number)@EXAMPLE.COM").components == ["user\(number)"] }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

/// Enterprise names (RFC 6806 section 5), such as user principal names of Active Directory.
struct EnterpriseNameTests {
    @Test func `an enterprise name has one component and is displayed as it was typed`() throws {
        let name = try Principal(enterprise: "alice@mail.test", realm: "A.TEST")
        #expect(name.components == ["alice@mail.test"] && name.realm == "A.TEST" && name.isEnterpriseName)
        #expect(name.description == #"alice\@mail.test@A.TEST"# && name.displayName == "alice@mail.test")
        #expect(try Principal(name.description) == name)
    }

    @Test(arguments: ["alice@A.TEST", "alice/admin@A.TEST", #"alice\/a@A.TEST"#]) func `other names are no enterprise names`(text: String)
        throws
    {
        let name = try Principal(text)
        #expect(!name.isEnterpriseName && name.displayName == text)
    }

    @Test(arguments: [("alice@mail.test", true), ("alice@Mail.Test", true), ("alice@A.TEST", false), ("HTTP/www@mail.test", false)])
    func `a realm with a lower-case letter may be the suffix of a user principal name`(text: String, mayBe: Bool) throws {
        #expect(try Principal(text).mayBeEnterpriseName == mayBe)
    }

    /// The realm of the answer, that of the request, that of the KDC that sent the last reply, and whether the answer is accepted.
    @Test(arguments: [
        ("alice@A.TEST", "A.TEST", true), ("alice@A.TEST", nil, true), ("alice@B.TEST", "B.TEST", true), ("alice@B.TEST", "A.TEST", false),
        ("alice@B.TEST", nil, false), ("alice@A.TEST", "B.TEST", false), ("alice@A.TEST", "a.test", true),
    ])
    func `a KDC names only accounts of its own realm`(answer: String, lastRealm: String?, isAccepted: Bool) async throws {
        let name = try Principal(enterprise: "alice@mail.test", realm: "A.TEST")
        let answer = try Principal(answer)
        guard !isAccepted else { return try answer.checkAnswer(to: name, from: lastRealm) }
        await expectFailure(.policyRefused) { try answer.checkAnswer(to: name, from: lastRealm) }
    }
}
