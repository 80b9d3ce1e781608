import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import SignOnPolicy
import Testing

/// Principal names as users of Active Directory type them: a realm in any case, `DOMAIN\\user`.
@Suite(.testRealm(.init(users: ["alice": "secret-1", "bob": "secret-1"], acceptsPasswordChanges: true)))
struct PrincipalNameTests {
    let station: Workstation

    init() throws { station = try Workstation() }

    private static let advice =
        #"OTHER\alice: no known realm is the Windows domain OTHER. Write the user and the realm, such as alice@REALM."#

    @Test(arguments: [
        ["login", "--password-stdin"], ["login", "--password-stdin", "--remember"], ["logout"], ["refresh"], ["switch"],
        ["passwd", "--password-stdin"],
    ])
    func `every command refuses a Windows logon name of an unknown domain and prints the name to write`(command: [String]) async throws {
        let result = try await station.run(["ksso"] + command + [#"OTHER\alice"#], input: "secret-1\nsecret-2\n")
        #expect(result == .failure(1, Self.advice))
    }

    /// The domain's name is the first label of the realm.
    @Test(arguments: [#"EXAMPLE\alice"#, #"example\alice"#, " alice\t"]) func `a Windows logon name becomes the principal`(name: String)
        async throws
    {
        let login = try await station.ksso("login", name, "--password-stdin", input: "secret-1\n")
        #expect(login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(login)")
        #expect(try await station.ksso("logout", name) == .done("alice@EXAMPLE.TEST is signed out.\n"))
    }

    @Test func `ksso setup with a Windows logon name installs no profile`() async throws {
        let words = ["--realm", "EXAMPLE.TEST", "--host", "localhost", "--principal", #"OTHER\alice"#, "--password-stdin"]
        let result = try await station.run(["ksso", "setup"] + words, input: "secret-1\n")
        #expect(result.exitStatus == 1 && result.errors.contains("Windows logon name"), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(station.directory)/config/ksso") == [])
    }

    /// The realm is known from krb5.conf, from a profile or from a session.
    @Test(arguments: [false, true]) func `a known realm is recognized in any case`(hasProfile: Bool) async throws {
        if hasProfile { try station.install(profile()) }
        let login = try await station.ksso("login", "alice@example.test", "--password-stdin", input: "secret-1\n")
        #expect(login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(login)")
        let again = try await station.ksso("login", "alice", "--realm", "Example.Test", "--password-stdin", input: "secret-1\n")
        #expect(again.output.hasPrefix("alice@EXAMPLE.TEST is signed in already"), "\(again)")
        for command in [["switch", "alice@example.test"], ["refresh", "alice@example.test"], ["refresh", "--realm", "example.test"]] {
            let result = try await station.run(["ksso"] + command)
            #expect(result.exitStatus == 0, "\(command): \(result)")
        }
        #expect(try await station.doctor("example.test").firstFailure == nil)
        let words = ["logout"] + (hasProfile ? ["--realm", "example.test"] : ["alice@example.test"])
        #expect(try await station.run(["ksso"] + words) == .done("alice@EXAMPLE.TEST is signed out.\n"))
        let input = "secret-1\nsecret-2\n"
        let change = try await station.ksso("passwd", "bob@example.test", "--password-stdin", input: hasProfile ? "x\ny\n" : input)
        #expect((change.output + change.errors).contains("bob@EXAMPLE.TEST"), "\(change)")
    }

    @Test func `an unknown realm keeps the case in which it is typed, if it is in capital letters or passed as the realm`() async throws {
        let capital = try await station.ksso("login", "alice@UNKNOWN.TEST", "--password-stdin", input: "secret-1\n")
        #expect(capital.exitStatus == 6 && capital.errors.contains("alice@UNKNOWN.TEST"), "\(capital)")
        let words = ["alice@unknown.test", "--realm", "unknown.test", "--password-stdin"]
        let passed = try await station.run(["ksso", "login"] + words, input: "secret-1\n")
        #expect(passed.exitStatus == 6 && passed.errors.contains("alice@unknown.test"), "\(passed)")
    }

    @Test func `an unknown suffix in lower case is that of a user principal name, for which the KDC is asked`() async throws {
        let result = try await station.ksso("login", "alice@mail.test", "--password-stdin", input: "secret-1\n")
        let sentence = "alice@mail.test: the KDC of EXAMPLE.TEST knows no user principal name alice@mail.test. "
        #expect(result.exitStatus == 1 && result.errors.contains(sentence), "\(result)")
    }

    @Test func `ksso setup writes the realm of a profile in the case of krb5.conf`() async throws {
        let words = ["--realm", "example.test", "--host", "localhost", "--principal", "alice@example.test", "--password-stdin"]
        let result = try await station.run(["ksso", "setup"] + words, input: "secret-1\n")
        #expect(result.output.contains("alice@EXAMPLE.TEST is signed in until "), "\(result)")
        #expect(try await station.ksso("profile", "show").output.contains("EXAMPLE.TEST, from"))
    }

    @Test func `the agent's API accepts and refuses the same principal names`() async throws {
        try await station.withAgent { _ in
            func login(_ name: String, _ more: String = "") async throws -> String {
                let body = #"{"principal": "\#(name)", "password": "secret-1"\#(more)}"#
                let curl = ["curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock", "-H", "Content-Type: application/json"]
                return try await station.run(curl + ["-d", body, "http://ksso/v1/login"]).output
            }
            #expect(try await login(#"OTHER\\alice"#).contains("no known realm is the Windows domain OTHER"))
            #expect(try await login(#"EXAMPLE\\alice"#).contains("alice@EXAMPLE.TEST"))
            #expect(try await login("alice@example.test").contains("alice@EXAMPLE.TEST"))
            #expect(try await login("alice", #", "realm": "example.test""#).contains("alice@EXAMPLE.TEST"))
            let out = ["-d", #"{"realm": "example.test"}"#, "-H", "Content-Type: application/json", "http://ksso/v1/logout"]
            let reply = try await station.run(["curl", "-sS", "--unix-socket", "\(station.runtime)/agent.sock"] + out).output
            #expect(reply.contains("alice@EXAMPLE.TEST"), "\(reply)")
        }
    }
}
