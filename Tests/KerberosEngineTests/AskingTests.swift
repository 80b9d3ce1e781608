import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import TestSupport
import Testing

/// Who is asked for a password, when a request may ask.
@Suite(.testRealm(users: ["alice": "secret", "bob": "other"], services: ["HTTP/www.example.test"])) struct AskingTests {
    private let host = "www.example.test"

    /// The one whose ticket expired, and not whoever uses the machine: a wrong password would count against the other.
    @Test(arguments: [false, true]) func whoseTicketExpiredIsAsked(mayAsk: Bool) async throws {
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

    @Test func aUserOfTheMachineWhoIsNoPrincipalIsToldHowToSignIn() async throws {
        var home = try Home(try #require(TestRealm.current))
        home.options.userName = "nobody"
        home.options.prompter = CountingPrompter(answer: "secret")
        let kerberos = home.makeExtension()
        let error = await authorizationError { try await kerberos.grant(host, mayAsk: true) }
        #expect(error?.message.contains("ksso login NAME") == true)
    }
}
