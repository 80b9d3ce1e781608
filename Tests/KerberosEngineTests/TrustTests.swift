import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import SignOnPolicy
import TestSupport
import Testing

/// Requests of a user of A.TEST to a service of B.TEST; the two realms trust each other.
struct TrustTests {
    private func withRealms(_ body: (TestRealm, TestRealm) async throws -> Void) async throws {
        try await withTrustedRealms(
            .init(name: "A.TEST", users: ["alice": "secret"], services: ["HTTP/web.a.test"]),
            .init(
                name: "B.TEST",
                users: ["bob": "secret"],
                services: [
                    "HTTP/web.b.test", "HTTP/web.elsewhere.test", "HTTP/web.intra.example", "HTTP/web.elsewhere.b.test",
                    "HTTP/web.more.b.test",
                ]
            )
        ) { try await body($0, $1) }
    }

    private func configuration(_ realm: String, mapping: [String: [String]] = [:], principal: String? = nil) throws
        -> ExtensionConfiguration
    {
        let hosts = try [".a.test", ".b.test", ".elsewhere.test"].map { text throws(HostRuleError) in try HostRule(text) }
        return .init(realm: realm, hosts: hosts, principalName: principal, domainRealmMapping: mapping)
    }

    private func expectAnswer(_ home: CacheHome, host: String, keytab: String) async throws {
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice@A.TEST", using: .secret)
        let grant = try await kerberos.grant(host)
        #expect(grant.principal == "alice@A.TEST")
        #expect(grant.servicePrincipal == "HTTP/\(host)@B.TEST")
        let acceptance = try Acceptance(grant.token, keytab: keytab)
        #expect(acceptance.client == "alice@A.TEST")
        #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
        // Another process uses the ticket in the cache.
        #expect(try await home.makeExtension().grant(host).servicePrincipal == "HTTP/\(host)@B.TEST")
    }

    @Test func `a referral of the KDC leads to the service's realm`() async throws {
        try await withRealms { first, second in
            let home = try CacheHome(first, configurations: [try configuration("A.TEST")])
            try await expectAnswer(home, host: "web.b.test", keytab: second.keytabPath)
            #expect(try second.issued(.serviceTicket, client: nil, server: "HTTP/web.b.test") == 1)
        }
    }

    /// Without krb5.conf the profiles alone set the KDCs of both realms.
    @Test func `a referral leads to a realm whose KDC is set by a profile`() async throws {
        try await withRealms { first, second in
            var configurations = [try configuration("A.TEST"), ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule("only.test")])]
            for (position, realm) in [first, second].enumerated() {
                configurations[position].preferredKDCs = [try PreferredKDC("127.0.0.1:\(realm.kdcPort)")]
            }
            var home = try CacheHome(first, configurations: configurations)
            home.options.base = .none
            try await expectAnswer(home, host: "web.b.test", keytab: second.keytabPath)
        }
    }

    /// The KDC of A.TEST does not know this domain; the profile does.
    @Test func `a profile's domain mapping leads to the service's realm`() async throws {
        try await withRealms { first, second in
            let mapping = ["B.TEST": [".elsewhere.test"]]
            let home = try CacheHome(first, configurations: [try configuration("A.TEST", mapping: mapping)])
            try await expectAnswer(home, host: "web.elsewhere.test", keytab: second.keytabPath)
            let unmapped = try CacheHome(first, configurations: [try configuration("A.TEST")]).makeExtension()
            try await unmapped.signIn("alice@A.TEST", using: .secret)
            let error = await authorizationError { try await unmapped.grant("web.elsewhere.test") }
            #expect((error?.cause as? KerberosError)?.code == .unknownService)
        }
    }

    /// The profile that covers the host does not map its domain; another profile does.
    @Test func `another profile's domain mapping leads to the service's realm`() async throws {
        try await withRealms { first, second in
            let covering = ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".intra.example")])
            let mapping = ExtensionConfiguration(realm: "B.TEST", domainRealmMapping: ["B.TEST": [".intra.example"]])
            let home = try CacheHome(first, configurations: [covering, mapping])
            try await expectAnswer(home, host: "web.intra.example", keytab: second.keytabPath)
            let unmapped = try CacheHome(first, configurations: [covering]).makeExtension()
            try await unmapped.signIn("alice@A.TEST", using: .secret)
            let error = await authorizationError { try await unmapped.grant("web.intra.example") }
            #expect((error?.cause as? KerberosError)?.code == .unknownService)
        }
    }

    /// The profile's realm is that of the services; its principal is in the other realm.
    @Test func `a profile's principal may be in another realm than the profile`() async throws {
        try await withRealms { first, second in
            let home = try CacheHome(first, configurations: [try configuration("B.TEST", principal: "alice@A.TEST")])
            try await expectAnswer(home, host: "web.elsewhere.test", keytab: second.keytabPath)
        }
    }

    /// The other realm's KDC rejects the tickets that this realm's KDC issues. The client cannot know whether a new ticket would help, so
    /// it tries once, but not with every request.
    @Test(arguments: [false, true])
    func `a trust with different keys in the two realms costs one sign-in`(ofAService: Bool) async throws {
        try await withRealms { first, second in
            // Without a referral, the cached cross-realm ticket is sent to the other realm.
            let mapping = ["B.TEST": [".b.test"]]
            var home = try CacheHome(first, configurations: [try configuration("A.TEST", mapping: mapping)])
            let keytab = InitialCredentialSource.keytab(try await first.keytab(for: "alice"))
            if ofAService { home.options.credential = .keytab(keytab, principal: "alice") }
            let kerberos = home.makeExtension()
            if !ofAService { try await kerberos.signIn("alice@A.TEST", using: keytab) }
            _ = try await kerberos.grant("web.b.test")
            let signIns = { try first.issued(.initialTicket, client: "alice") }
            #expect(try signIns() == 1)
            // Both realms have the new key, and the cache has a ticket encrypted with the old one.
            try await share("changed", by: [first, second])
            home.clock.advance(by: 301)
            #expect(try await kerberos.grant("web.elsewhere.b.test").servicePrincipal == "HTTP/web.elsewhere.b.test@B.TEST")
            #expect(try signIns() == 2)

            try await share("other", by: [second])
            home.clock.advance(by: 301)
            for _ in 0..<5 {
                let refused = await authorizationError { try await kerberos.grant("web.more.b.test") }
                #expect((refused?.cause as? KerberosError)?.code == .ticketRefused)
            }
            if !ofAService {
                // Another process, whose clock is the KDC's: the ticket is new.
                home.options.clock = { Date() }
                _ = await authorizationError { try await home.makeExtension().grant("web.more.b.test") }
            }
            #expect(try signIns() == 3)
            _ = try await kerberos.grant("web.a.test")

            try await share("fixed", by: [first, second])
            home.clock.advance(by: 301)
            #expect(try await kerberos.grant("web.more.b.test").servicePrincipal == "HTTP/web.more.b.test@B.TEST")
            #expect(try signIns() == 4)
        }
    }

    /// Gives the cross-realm principal another key with the same version number.
    private func share(_ password: String, by realms: [TestRealm]) async throws {
        for realm in realms {
            _ = try await realm.kadmin(["delete_principal", "-force", "krbtgt/B.TEST@A.TEST"])
            _ = try await realm.kadmin(["add_principal", "-pw", password, "krbtgt/B.TEST@A.TEST"])
        }
    }

    @Test func `each realm's user answers for the hosts of that realm`() async throws {
        try await withRealms { first, _ in
            let configurations: [ExtensionConfiguration] = [
                .init(realm: "A.TEST", hosts: [try HostRule(".a.test")]), .init(realm: "B.TEST", hosts: [try HostRule(".b.test")]),
            ]
            let kerberos = try CacheHome(first, configurations: configurations).makeExtension()
            try await kerberos.signIn("alice@A.TEST", using: .secret)
            #expect(await authorizationError { try await kerberos.grant("web.b.test") }?.code == .notSignedIn)
            try await kerberos.signIn("bob@B.TEST", using: .secret)
            #expect(try await kerberos.grant("web.b.test").principal == "bob@B.TEST")
            #expect(try await kerberos.grant("web.a.test").principal == "alice@A.TEST")
            #expect(try await kerberos.sessions().sessions.allSatisfy(\.isDefault))
        }
    }
}
