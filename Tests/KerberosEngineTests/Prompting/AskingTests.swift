import HTTPNegotiate
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// Which principal is prompted for a password when a request allows prompts.
@Suite(.testRealm(users: ["alice": "secret", "bob": "other"], services: ["HTTP/www.example.test"]), .timeLimit(.minutes(5)))
struct AskingTests {
    private let host = "www.example.test"

    /// A prompt for the local user name would be wrong: a mistyped password would count against that principal's account.
    @Test(arguments: [false, true]) func `the principal whose ticket expired is prompted, not the local user`(mayAsk: Bool) async throws {
        var home = try CacheHome(try #require(TestRealm.current))
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

    /// Control characters in the label and the help text must not reach a terminal.
    @Test func `a prompt shows the profile's user name label and help text, escaped and shortened`() async throws {
        let realm = try #require(TestRealm.current)
        let help = "Call 1234\nor \u{1B}[2J ask Bob" + String(repeating: "!", count: 3000)
        let rules = SignInRules(userNameLabel: "Staff\nnumber", helpText: help)
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [try HostRule(".example.test")])
        configuration.signIn = rules
        let home = try CacheHome(realm, configurations: [configuration])
        let prompter = AnsweringPrompter(["secret"])
        try await home.makeExtension().signIn("alice", using: .prompter(prompter))
        let banner = try #require(prompter.requests.first?.banner)
        #expect(banner.hasPrefix("Staff\\u{a}number: alice@EXAMPLE.TEST\nCall 1234\nor \\u{1b}[2J ask Bob!"), "\(banner)")
        #expect(banner.count < 1200 && banner.hasSuffix("!…"))
    }

    @Test(arguments: [SignInRules(), SignInRules(userNameLabel: "", helpText: "")])
    func `a prompt has no banner if the profile sets no label or help text`(_ rules: SignInRules) async throws {
        let realm = try #require(TestRealm.current)
        var configuration = ExtensionConfiguration(realm: realm.name, hosts: [try HostRule(".example.test")])
        configuration.signIn = rules
        let home = try CacheHome(realm, configurations: [configuration])
        let prompter = AnsweringPrompter(["secret"])
        try await home.makeExtension().signIn("alice", using: .prompter(prompter))
        #expect(prompter.requests.map(\.banner) == [nil])
    }

    /// The agent replaces its extension when the profiles change. Another principal is prompted.
    @Test func `a prompt that was canceled before a change of the profiles is not repeated after it`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        let prompter = CountingPrompter(refusal: .canceled)
        home.options.prompter = prompter
        let (first, second) = (home.makeExtension(), home.makeExtension())
        second.sharePrompts(with: first)
        #expect(await kerberosError { try await first.signInByAsking("alice") }?.code == .canceled)
        let error = await kerberosError { try await second.signInByAsking("alice") }
        #expect(error?.code == .canceled && error?.message.contains("was not answered at") == true, "\(error as Any)")
        #expect(prompter.count == 1)
        #expect(await kerberosError { try await second.signInByAsking("bob") }?.code == .canceled)
        #expect(prompter.count == 2)
    }

    @Test func `a prompt that is open during a change of the profiles is the only one after it`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        let prompter = CountingPrompter(answer: "secret", waits: true)
        home.options.prompter = prompter
        let (first, second) = (home.makeExtension(), home.makeExtension())
        second.sharePrompts(with: first)
        let question = Question(of: try Principal("alice@EXAMPLE.TEST"), .prompter(prompter), under: first.policy)
        async let before = first.signInByAsking("alice")
        await prompter.asked()
        async let after = second.signInByAsking("alice")
        #expect(try await comesTrue { second.signIns.prompts.open.flights.waiters(for: question) == 2 || prompter.count > 1 })
        for _ in 0..<2 { prompter.release() }
        let sessions = try await [before, after]
        #expect(sessions.allSatisfy { $0.principal.description == "alice@EXAMPLE.TEST" })
        #expect(prompter.count == 1)
    }

    /// The open prompt belongs to a sign-in that the earlier profiles permit. Another KDC would check the password of the second one.
    @Test(arguments: [true, false])
    func `a sign-in under new rules does not join the open prompt of the earlier ones`(allowsPassword: Bool) async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        let prompter = CountingPrompter(answer: "secret", waits: true)
        home.options.prompter = prompter
        let first = home.makeExtension()
        home.options.configurations[0].signIn = SignInRules(allowsPassword: allowsPassword, helpText: "new")
        let second = home.makeExtension()
        second.sharePrompts(with: first)
        async let before = first.signInByAsking("alice")
        await prompter.asked()
        let error = await kerberosError { try await second.signInByAsking("alice") }
        #expect(error?.code == (allowsPassword ? .notInteractive : .policyRefused), "\(error as Any)")
        prompter.release()
        #expect(try await before.principal.description == "alice@EXAMPLE.TEST")
        #expect(prompter.count == 1)
    }

    @Test func `the agent that stops after a change of the profiles cancels the prompts from before it`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        let prompter = CountingPrompter(answer: "secret", waits: true)
        home.options.prompter = prompter
        let (first, second) = (home.makeExtension(), home.makeExtension())
        second.sharePrompts(with: first)
        let waiting = Task { await kerberosError { try await first.signInByAsking("bob") } }
        await prompter.asked()
        second.cancelPrompts()
        #expect(await waiting.value?.code == .canceled)
        prompter.release()
    }

    @Test func `a local user without a principal gets the ksso login command in the error`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        home.options.userName = "nobody"
        home.options.prompter = CountingPrompter(answer: "secret")
        let kerberos = home.makeExtension()
        let error = await authorizationError { try await kerberos.grant(host, mayAsk: true) }
        #expect(error?.message.contains("ksso login NAME") == true)
    }
}
