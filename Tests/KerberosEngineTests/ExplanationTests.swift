import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/explained.example.test", "explained"]))
struct ExplanationTests {
    private func explain(_ kerberos: KerberosExtension, _ host: String = "explained.example.test") async throws -> Explanation {
        await kerberos.explanation(for: try #require(URL(string: "https://\(host)/")))
    }

    private func verdict(_ explanation: Explanation, _ rule: String) -> DecisionReason.Verdict? {
        explanation.reasons.first { $0.rule == rule }?.verdict
    }

    @Test func aHostThatIsNotCovered() async throws {
        let kerberos = try Home(try #require(TestRealm.current)).makeExtension()
        let explanation = try await explain(kerberos, "example.test")
        #expect(!explanation.isHandled)
        #expect(verdict(explanation, "hostRule") == .failed)
        #expect(verdict(explanation, "session") == nil)
    }

    @Test func nobodySignedIn() async throws {
        let explanation = try await explain(try Home(try #require(TestRealm.current)).makeExtension())
        #expect(explanation.isHandled && explanation.principal == nil)
        #expect(explanation.servicePrincipal == "HTTP/explained.example.test")
        #expect(verdict(explanation, "session") == .failed)
        #expect(verdict(explanation, "ticket") == nil)
    }

    @Test func withAndWithoutATicketAndWithoutAskingTheKDC() async throws {
        let realm = try #require(TestRealm.current)
        let home = try Home(realm)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let before = try await explain(kerberos)
        #expect(before.principal == "alice@EXAMPLE.TEST")
        #expect(verdict(before, "session") == .passed)
        #expect(verdict(before, "ticket") == .notApplicable)
        #expect(try realm.received(.serviceTicket, server: "HTTP/explained.example.test") == 0)

        _ = try await kerberos.grant("explained.example.test")
        let after = try await explain(home.makeExtension())
        #expect(after.servicePrincipal == "HTTP/explained.example.test@EXAMPLE.TEST")
        #expect(verdict(after, "ticket") == .passed)
        #expect(Array(after.reasons.prefix(before.plan?.reasons.count ?? 0)) == after.plan?.reasons)
        #expect(try realm.issued(.serviceTicket, server: "HTTP/explained.example.test") == 1)
    }

    @Test func whomTheProfileNames() async throws {
        var home = try Home(try #require(TestRealm.current))
        home.options.configurations[0].principalName = "bob"
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let explanation = try await explain(kerberos)
        #expect(explanation.principal == nil)
        #expect(explanation.reasons.contains { $0.rule == "session" && $0.detail.contains("bob") })
    }

    @Test func aSessionThatHasEnded() async throws {
        let home = try Home(try #require(TestRealm.current))
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        home.clock.advance(by: 11 * 3600)
        #expect(verdict(try await explain(kerberos), "session") == .failed)
    }

    @Test func aServiceIsNotSignedInByBeingExplained() async throws {
        let realm = try #require(TestRealm.current)
        var home = try Home(realm)
        home.options.credential = .keytab(.keytab(realm.keytabPath), principal: "explained")
        let kerberos = home.makeExtension()
        #expect(try await explain(kerberos).principal == nil)
        #expect(try realm.received(.initialTicket, client: "explained") == 0)
        _ = try await kerberos.grant("www.example.test")
        #expect(try await explain(kerberos).principal == "explained@EXAMPLE.TEST")
    }
}
