import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import Synchronization
import TestSupport
import Testing

@Suite(
    .testRealm(
        users: ["alice": "secret"],
        services: (["cold", "one", "two", "three"].map { "HTTP/\($0).example.test" }) + ["app", "crowd"]
    )
)
struct SingleFlightTests {
    /// Runs many requests at once and gives the distinct principals that answered.
    private func answers(_ kerberos: KerberosExtension, hosts: [String], mayAsk: Bool = false) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for host in hosts { group.addTask { try await kerberos.grant(host, mayAsk: mayAsk).principal } }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }

    @Test func aColdServiceCostsOneTicketRequest() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try Home(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let hosts = Array(repeating: "cold.example.test", count: 100)
        #expect(try await answers(kerberos, hosts: hosts) == ["alice@EXAMPLE.TEST"])
        #expect(try realm.issued(.serviceTicket, server: "HTTP/cold.example.test") == 1)
    }

    @Test func aColdKeytabCostsOneSignIn() async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        home.options.credential = .keytab(.keytab(try await realm.keytab(for: "app")), principal: "app")
        let kerberos = home.makeExtension()
        let hosts = Array(repeating: ["one.example.test", "two.example.test"], count: 50).flatMap { $0 }
        #expect(try await answers(kerberos, hosts: hosts) == ["app@EXAMPLE.TEST"])
        #expect(try realm.issued(.initialTicket, client: "app") == 1)
        #expect(try realm.issued(.serviceTicket, client: "app", server: "HTTP/one.example.test") == 1)
        #expect(try realm.issued(.serviceTicket, client: "app", server: "HTTP/two.example.test") == 1)
    }

    @Test func tenRequestsAskThePersonOnce() async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        let hosts = (0..<10).map { ["one", "two", "three"][$0 % 3] + ".example.test" }
        #expect(try await answers(kerberos, hosts: hosts, mayAsk: true) == ["alice@EXAMPLE.TEST"])
        #expect(prompter.count == 1)
    }

    @Test func aRequestThatMayNotAskNeverAsks() async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        #expect(await authorizationError { try await kerberos.grant("one.example.test") }?.code == .notSignedIn)
        #expect(prompter.count == 0)
    }

    /// The person takes a while to answer; another request must not wait for the answer.
    @Test func aRequestThatMayNotAskDoesNotWaitForOneThatMay() async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        let prompter = CountingPrompter(answer: "secret", waits: true)
        home.options.prompter = prompter
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        async let asking = kerberos.grant("one.example.test", mayAsk: true)
        await prompter.asked()
        #expect(await authorizationError { try await kerberos.grant("one.example.test") }?.code == .notSignedIn)
        prompter.release()
        #expect(try await asking.principal == "alice@EXAMPLE.TEST")
    }

    @Test(arguments: [(PromptRefusal.canceled, AuthorizationError.Code.canceled), (.notInteractive, .notInteractive)])
    func aPersonMayRefuse(refusal: PromptRefusal, code: AuthorizationError.Code) async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        home.options.prompter = CountingPrompter(refusal: refusal)
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        #expect(await authorizationError { try await kerberos.grant("one.example.test", mayAsk: true) }?.code == code)
    }
}
