import HTTPNegotiate
import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// Concurrent requests share one sign-in, one ticket request or one prompt.
@Suite(
    .testRealm(
        users: ["alice": "secret"],
        services: (["cold", "one", "two", "three"].map { "HTTP/\($0).example.test" }) + ["app", "crowd"]
    )
)
struct SingleFlightTests {
    /// Runs many requests concurrently and returns the distinct principals that answered.
    private func answers(_ kerberos: KerberosExtension, hosts: [String], mayAsk: Bool = false) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for host in hosts { group.addTask { try await kerberos.grant(host, mayAsk: mayAsk).principal } }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }

    @Test func `concurrent requests for a service without a ticket cost one ticket request`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let hosts = Array(repeating: "cold.example.test", count: 100)
        #expect(try await answers(kerberos, hosts: hosts) == ["alice@EXAMPLE.TEST"])
        #expect(try realm.issued(.serviceTicket, server: "HTTP/cold.example.test") == 1)
    }

    @Test func `concurrent requests with an unused keytab cost one sign-in`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        home.options.credential = .keytab(.keytab(try await realm.keytab(for: "app")), principal: "app")
        let kerberos = home.makeExtension()
        let hosts = Array(repeating: ["one.example.test", "two.example.test"], count: 50).flatMap { $0 }
        #expect(try await answers(kerberos, hosts: hosts) == ["app@EXAMPLE.TEST"])
        #expect(try realm.issued(.initialTicket, client: "app") == 1)
        #expect(try realm.issued(.serviceTicket, client: "app", server: "HTTP/one.example.test") == 1)
        #expect(try realm.issued(.serviceTicket, client: "app", server: "HTTP/two.example.test") == 1)
    }

    @Test func `concurrent requests for several hosts share one prompt`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        let hosts = (0..<10).map { ["one", "two", "three"][$0 % 3] + ".example.test" }
        #expect(try await answers(kerberos, hosts: hosts, mayAsk: true) == ["alice@EXAMPLE.TEST"])
        #expect(prompter.count == 1)
    }

    @Test func `a request that does not allow prompts never prompts`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        let prompter = CountingPrompter(answer: "secret")
        home.options.prompter = prompter
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        #expect(await authorizationError { try await kerberos.grant("one.example.test") }?.code == .notSignedIn)
        #expect(prompter.count == 0)
    }

    /// The user takes a while to answer; another request must not wait for the answer.
    @Test func `a request that does not allow prompts does not wait for an open prompt`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
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
    func `a refused prompt fails the request with the matching code`(refusal: PromptRefusal, code: AuthorizationError.Code) async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        home.options.prompter = CountingPrompter(refusal: refusal)
        home.options.configurations[0].principalName = "alice"
        let kerberos = home.makeExtension()
        #expect(await authorizationError { try await kerberos.grant("one.example.test", mayAsk: true) }?.code == code)
    }
}

/// How callers join a flight, and when the work of a flight is cancelled.
struct FlightTests {
    private let flights = SingleFlight<String, Int>(endsWithItsWaiters: true)
    private let counter = Counter()

    /// Starts work that runs until it is cancelled.
    private func wait() -> Task<Int, any Error> {
        Task { [flights, counter] in
            try await flights.run("work") { () async throws(KerberosError) in
                let number = counter.next()
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return number
            }
        }
    }

    @Test func `work is cancelled with its last waiter, and the next caller starts new work`() async throws {
        let waiting = [wait(), wait()]
        #expect(try await comesTrue { flights.waiters(for: "work") == 2 })
        waiting[0].cancel()
        #expect(await kerberosError { try await waiting[0].value }?.code == .canceled)
        #expect(flights.waiters(for: "work") == 1 && counter.count == 1)
        waiting[1].cancel()
        #expect(await kerberosError { try await waiting[1].value }?.code == .canceled)
        #expect(flights.waiters(for: "work") == 0)
        #expect(try await flights.run("work") { () async throws(KerberosError) in counter.next() } == 2)
    }

    @Test func `work started without a waiter continues after its waiters are cancelled`() async throws {
        let (steps, continuation) = AsyncStream.makeStream(of: Void.self)
        flights.start("work") { [counter] () async throws(KerberosError) in
            for await _ in steps { break }
            return counter.next()
        }
        let waiting = wait()
        #expect(try await comesTrue { flights.waiters(for: "work") == 2 })
        waiting.cancel()
        #expect(await kerberosError { try await waiting.value }?.code == .canceled)
        continuation.yield()
        #expect(try await comesTrue { flights.waiters(for: "work") == 0 })
        #expect(counter.count == 1)
    }
}
