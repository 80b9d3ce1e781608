import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import TestSupport
import Testing

/// A user of A.TEST and a service of B.TEST, two realms that trust each other.
struct TrustTests {
    private func withRealms(_ body: (TestRealm, TestRealm) async throws -> Void) async throws {
        try await withTrustedRealms(
            .init(name: "A.TEST", users: ["alice": "secret"], services: ["HTTP/web.a.test"]),
            .init(
                name: "B.TEST",
                users: ["bob": "secret"],
                services: ["HTTP/web.b.test", "HTTP/web.elsewhere.test", "HTTP/web.intra.example"]
            )
        ) { try await body($0, $1) }
    }

    private func configuration(_ realm: String, mapping: [String: [String]] = [:], principal: String? = nil) throws
        -> ExtensionConfiguration
    {
        let hosts = try [".a.test", ".b.test", ".elsewhere.test"].map { text throws(HostRuleError) in try HostRule(text) }
        return .init(realm: realm, hosts: hosts, principalName: principal, domainRealmMapping: mapping)
    }

    private func expectAnswer(_ home: Home, host: String, keytab: String) async throws {
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice@A.TEST", using: .secret)
        let grant = try await kerberos.grant(host)
        #expect(grant.principal == "alice@A.TEST")
        #expect(grant.servicePrincipal == "HTTP/\(host)@B.TEST")
        let acceptance = try Acceptance(grant.token, keytab: keytab)
        #expect(acceptance.client == "alice@A.TEST")
        #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
        // From the cache, in another process.
        #expect(try await home.makeExtension().grant(host).servicePrincipal == "HTTP/\(host)@B.TEST")
    }

    @Test func byReferral() async throws {
        try await withRealms { first, second in
            let home = try Home(first, configurations: [try configuration("A.TEST")])
            try await expectAnswer(home, host: "web.b.test", keytab: second.keytabPath)
            #expect(try second.issued(.serviceTicket, client: nil, server: "HTTP/web.b.test") == 1)
        }
    }

    /// No krb5.conf: the profiles alone say where the KDCs are, that of the other realm too.
    @Test func byReferralWithTheKDCsOfTheProfiles() async throws {
        try await withRealms { first, second in
            var configurations = [try configuration("A.TEST"), ExtensionConfiguration(realm: "B.TEST", hosts: [try HostRule("only.test")])]
            for (position, realm) in [first, second].enumerated() {
                configurations[position].preferredKDCs = [try PreferredKDC("127.0.0.1:\(realm.kdcPort)")]
            }
            var home = try Home(first, configurations: configurations)
            home.options.base = .none
            try await expectAnswer(home, host: "web.b.test", keytab: second.keytabPath)
        }
    }

    /// The KDC of A.TEST knows nothing of this domain; the profile does.
    @Test func byMapping() async throws {
        try await withRealms { first, second in
            let mapping = ["B.TEST": [".elsewhere.test"]]
            let home = try Home(first, configurations: [try configuration("A.TEST", mapping: mapping)])
            try await expectAnswer(home, host: "web.elsewhere.test", keytab: second.keytabPath)
            let unmapped = try Home(first, configurations: [try configuration("A.TEST")]).makeExtension()
            try await unmapped.signIn("alice@A.TEST", using: .secret)
            let error = await authorizationError { try await unmapped.grant("web.elsewhere.test") }
            #expect((error?.cause as? KerberosError)?.code == .unknownService)
        }
    }

    /// The profile that covers the host says nothing of its realm; another one does.
    @Test func byAnotherProfilesMapping() async throws {
        try await withRealms { first, second in
            let covering = ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".intra.example")])
            let mapping = ExtensionConfiguration(realm: "B.TEST", domainRealmMapping: ["B.TEST": [".intra.example"]])
            let home = try Home(first, configurations: [covering, mapping])
            try await expectAnswer(home, host: "web.intra.example", keytab: second.keytabPath)
            let unmapped = try Home(first, configurations: [covering]).makeExtension()
            try await unmapped.signIn("alice@A.TEST", using: .secret)
            let error = await authorizationError { try await unmapped.grant("web.intra.example") }
            #expect((error?.cause as? KerberosError)?.code == .unknownService)
        }
    }

    /// The profile's realm is that of the services; its principal comes from the other.
    @Test func aPrincipalOfAnotherRealmThanTheProfiles() async throws {
        try await withRealms { first, second in
            let home = try Home(first, configurations: [try configuration("B.TEST", principal: "alice@A.TEST")])
            try await expectAnswer(home, host: "web.elsewhere.test", keytab: second.keytabPath)
        }
    }

    @Test func eachRealmsUserAnswersForItsOwnHosts() async throws {
        try await withRealms { first, _ in
            let configurations: [ExtensionConfiguration] = [
                .init(realm: "A.TEST", hosts: [try HostRule(".a.test")]), .init(realm: "B.TEST", hosts: [try HostRule(".b.test")]),
            ]
            let kerberos = try Home(first, configurations: configurations).makeExtension()
            try await kerberos.signIn("alice@A.TEST", using: .secret)
            #expect(await authorizationError { try await kerberos.grant("web.b.test") }?.code == .notSignedIn)
            try await kerberos.signIn("bob@B.TEST", using: .secret)
            #expect(try await kerberos.grant("web.b.test").principal == "bob@B.TEST")
            #expect(try await kerberos.grant("web.a.test").principal == "alice@A.TEST")
            #expect(try await kerberos.sessions().sessions.allSatisfy(\.isDefault))
        }
    }
}
