import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// The reasons that an explanation lists for a host, without a request to the KDC.
@Suite(
    .testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/explained.example.test", "explained"]),
    .timeLimit(.minutes(15))
)
struct ExplanationTests {
    private func explain(_ kerberos: KerberosExtension, _ host: String = "explained.example.test") async throws -> Explanation {
        await kerberos.explanation(for: try #require(URL(string: "https://\(host)/")))
    }

    private func verdict(_ explanation: Explanation, _ rule: String) -> DecisionReason.Verdict? {
        explanation.reasons.first { $0.rule == rule }?.verdict
    }

    @Test func `an explanation of an uncovered host ends at the host rule`() async throws {
        let kerberos = try CacheHome(try #require(TestRealm.current)).makeExtension()
        let explanation = try await explain(kerberos, "example.test")
        #expect(!explanation.isHandled)
        #expect(verdict(explanation, "hostRule") == .failed)
        #expect(verdict(explanation, "session") == nil)
    }

    @Test func `an explanation without a session reports the missing session`() async throws {
        let explanation = try await explain(try CacheHome(try #require(TestRealm.current)).makeExtension())
        #expect(explanation.isHandled && explanation.principal == nil)
        #expect(explanation.servicePrincipal == "HTTP/explained.example.test")
        #expect(verdict(explanation, "session") == .failed)
        #expect(verdict(explanation, "ticket") == nil)
    }

    @Test func `an explanation reports whether a ticket is cached without asking the KDC`() async throws {
        let realm = try #require(TestRealm.current)
        let home = try CacheHome(realm)
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

    @Test func `an explanation reports a missing session of the profile's principal`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        home.options.configurations[0].principalName = "bob"
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let explanation = try await explain(kerberos)
        #expect(explanation.principal == nil)
        #expect(explanation.reasons.contains { $0.rule == "session" && $0.detail.contains("bob") })
    }

    @Test func `an explanation reports an expired session`() async throws {
        let home = try CacheHome(try #require(TestRealm.current))
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        home.clock.advance(by: 11 * 3600)
        #expect(verdict(try await explain(kerberos), "session") == .failed)
    }

    @Test func `an explanation does not sign in a service`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        home.options.credential = .keytab(.keytab(realm.keytabPath), principal: "explained")
        let kerberos = home.makeExtension()
        #expect(try await explain(kerberos).principal == nil)
        #expect(try realm.received(.initialTicket, client: "explained") == 0)
        _ = try await kerberos.grant("www.example.test")
        #expect(try await explain(kerberos).principal == "explained@EXAMPLE.TEST")
    }

    /// The detail of a rule's last reason, which is the one about this process.
    private func detail(_ explanation: Explanation, _ rule: String) -> String? {
        explanation.reasons.last { $0.rule == rule }?.detail
    }

    /// Only the process's own krb5.conf counts, so each client here is its own process.
    @Test(.exitTest, arguments: [true, false])
    func `an explanation reports client_aware_channel_bindings of the process`(isAware: Bool) async throws {
        let home = try CacheHome(try #require(TestRealm.current))
        let file = "\(home.directory)/aware.conf"
        try "[libdefaults]\n    client_aware_channel_bindings = \(isAware)\n".write(toFile: file, atomically: true, encoding: .utf8)
        let client = try ClientProcess(home, configurationPath: file)
        await #expect(processExitsWith: .success) { [client = client as ClientProcess, isAware = isAware as Bool] in
            client.begin()
            let url = try #require(URL(string: "https://explained.example.test/"))
            let reasons = try await client.makeExtension().explanation(for: url).reasons.filter { $0.rule == "channelBinding" }
            let reason = try #require(reasons.last)
            try #require(reasons.count == 2)
            try #require(reason.verdict == (isAware ? .passed : .notApplicable))
            try #require(reason.detail.contains("client_aware_channel_bindings is \(isAware ? "on" : "off")"))
            endChildProcess()
        }
    }

    @Test func `without channel bindings the explanation omits their enforcement`() async throws {
        var home = try CacheHome(try #require(TestRealm.current))
        home.options.configurations[0].noChannelBindingHosts = [try HostRule("explained.example.test")]
        let reasons = try await explain(home.makeExtension()).reasons
        #expect(reasons.allSatisfy { !$0.detail.contains("client_aware") })
    }

    @Test func `an explanation gives the reason why a configured delegation does not happen`() async throws {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        try await home.kinit("alice")
        #expect(detail(try await explain(home.makeExtension()), "delegation")?.contains("DelegationHosts does not cover") == true)
        home.options.configurations[0].delegationHosts = [try HostRule(".example.test")]
        #expect(detail(try await explain(home.makeExtension()), "delegation")?.contains("is not forwardable") == true)

        try await home.kinit("alice", ["-f"])
        let kerberos = home.makeExtension()
        #expect(detail(try await explain(kerberos), "delegation")?.contains("names no KDC of EXAMPLE.TEST") == true)
        _ = try await kerberos.grant("www.example.test")
        let explanation = try await explain(kerberos, "www.example.test")
        #expect(detail(explanation, "delegation")?.contains("does not trust HTTP/www.example.test") == true)
    }
}
