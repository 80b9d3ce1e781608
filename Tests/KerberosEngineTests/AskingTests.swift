import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Who is asked for a password, when a request may ask.
@Suite(.testRealm(users: ["alice": "secret", "bob": "other"], services: ["HTTP/www.example.test"])) struct AskingTests {
    private let host = "www.example.test"

    /// The one whose ticket expired, and not whoever uses the machine: a wrong password would count against the other.
    @Test(arguments: [false, true]) func `whose ticket expired is asked`(mayAsk: Bool) async throws {
        var home = try Home(try #require(TestRealm.current))
        let prompter = CountingPrompter(answer: "secret")
        home.options.userName = "bob"
        home.options.prompter = prompter
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret, options: .init(lifetime: .seconds(60)))
        home.clock.advance(by: 120)
        if mayAsk {
            #expect(try await kerberos.grant(host, mayAsk: true).principal == "alice@EXAMPLE.TEST")
            #expect(prompter.count == 1)
        } else {
            let error = await authorizationError { try await kerberos.grant(host) }
            #expect(error?.code == .notSignedIn)
            #expect(error?.message.contains("ksso login alice@EXAMPLE.TEST") == true)
        }
    }

    /// The profile's word for the user name and its help stand above the question, and nothing in them acts on a terminal.
    @Test func `the profiles words stand above the question`() async throws {
        let realm = try #require(TestRealm.current)
        let help = "Call 1234\nor \u{1B}[2J ask Bob" + String(repeating: "!", count: 3000)
        let rules = SignInRules(userNameLabel: "Staff\nnumber", helpText: help)
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [try HostRule(".example.test")])
        configuration.signIn = rules
        let home = try Home(realm, configurations: [configuration])
        let prompter = AnsweringPrompter(["secret"])
        try await home.makeExtension().signIn("alice", using: .prompter(prompter))
        let banner = try #require(prompter.requests.first?.banner)
        #expect(banner.hasPrefix("Staff\\u{a}number: alice@EXAMPLE.TEST\nCall 1234\nor \\u{1b}[2J ask Bob!"), "\(banner)")
        #expect(banner.count < 1200 && banner.hasSuffix("!…"))
    }

    @Test(arguments: [SignInRules(), SignInRules(userNameLabel: "", helpText: "")])
    func `without such words nothing stands there`(_ rules: SignInRules) async throws {
        let realm = try #require(TestRealm.current)
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [try HostRule(".example.test")])
        configuration.signIn = rules
        let home = try Home(realm, configurations: [configuration])
        let prompter = AnsweringPrompter(["secret"])
        try await home.makeExtension().signIn("alice", using: .prompter(prompter))
        #expect(prompter.requests.map(\.banner) == [nil])
    }

    @Test func `a user of the machine who is no principal is told how to sign in`() async throws {
        var home = try Home(try #require(TestRealm.current))
        home.options.userName = "nobody"
        home.options.prompter = CountingPrompter(answer: "secret")
        let kerberos = home.makeExtension()
        let error = await authorizationError { try await kerberos.grant(host, mayAsk: true) }
        #expect(error?.message.contains("ksso login NAME") == true)
    }
}
