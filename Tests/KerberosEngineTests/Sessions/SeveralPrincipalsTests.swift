import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Which of several signed-in principals answers a request.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret", "carol": "secret"], services: ["HTTP/www.example.test"]))
struct SeveralPrincipalsTests {
    private let host = "www.example.test"

    /// Signs in Alice, and Bob one second later.
    private func twoSignedIn(cache: String = "FILE", _ change: (inout CacheHome) throws -> Void = { _ in }) async throws -> (
        CacheHome, KerberosExtension
    ) {
        var home = try CacheHome(try #require(TestRealm.current), cache: cache)
        try change(&home)
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        home.clock.advance(by: 1)
        try await kerberos.signIn("bob", using: .secret)
        home.clock.advance(by: 1)
        return (home, kerberos)
    }

    @Test(arguments: ["FILE", "DIR"])
    func `the principal that signed in last answers`(cache: String) async throws {
        let (home, kerberos) = try await twoSignedIn(cache: cache)
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
        #expect(try await home.makeExtension().grant(host).principal == "bob@EXAMPLE.TEST")
        try await kerberos.signIn("alice", using: .secret)
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.sessions().sessions.count == 2)
    }

    /// Two profiles of one realm have different principals and, by an override, the same service: their credentials must not be confused.
    @Test func `each profile's principal answers for its own hosts`() async throws {
        var www = ExtensionConfiguration(realm: "EXAMPLE.TEST", hosts: [try HostRule(host)], principalName: "alice")
        var admin = ExtensionConfiguration(realm: "EXAMPLE.TEST", hosts: [try HostRule("admin.example.test")], principalName: "bob")
        (www.source, admin.source) = ("www", "admin")
        admin.servicePrincipals[try Origin(url: "https://admin.example.test")] = "HTTP/\(host)"
        let configurations = [www, admin]
        let (_, kerberos) = try await twoSignedIn(cache: "DIR") { $0.options.configurations = configurations }
        for _ in 1...2 {
            #expect(try await kerberos.grant("admin.example.test").principal == "bob@EXAMPLE.TEST")
            #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        }
    }

    /// An accent as a letter of its own, and combined with one: equal strings in Swift, different names for the KDC.
    @Test func `principals whose names differ only in their Unicode form are two`() async throws {
        let home = try CacheHome(try #require(TestRealm.current), cache: "DIR")
        let names = ["caf\u{E9}", "cafe\u{301}"]
        for name in names { try await home.realm.addUser(name, password: "secret") }
        let kerberos = home.makeExtension()
        for name in names { try await kerberos.signIn(name, using: .secret) }
        let principals = try await kerberos.sessions().sessions.map(\.principal)
        #expect(Set(principals).count == 2 && Set(principals.map(\.description.utf8.count)) == [18, 19])
        for _ in 1...2 {
            for name in names {
                let grant = try await kerberos.grant(host, as: "\(name)@EXAMPLE.TEST")
                #expect(Array(grant.principal.utf8) == Array("\(name)@EXAMPLE.TEST".utf8))
            }
        }
        _ = try await kerberos.signOut(try Principal("\(names[1])@EXAMPLE.TEST"))
        let rest = try await kerberos.sessions().sessions.map(\.principal)
        #expect(rest == [try Principal("\(names[0])@EXAMPLE.TEST")])
    }

    @Test(arguments: ["FILE", "DIR"])
    func `the principal made the default answers`(cache: String) async throws {
        let (home, kerberos) = try await twoSignedIn(cache: cache)
        let alice = try Principal("alice@EXAMPLE.TEST")
        _ = try await kerberos.grant(host)
        #expect(try await kerberos.makeDefault(alice).isDefault)
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(try await home.makeExtension().grant(host).principal == "alice@EXAMPLE.TEST")
        if cache == "DIR" {
            #expect(try await home.run("klist", []).output.contains("alice@EXAMPLE.TEST"))  // klist uses the primary cache
        }
    }

    /// Only ``KerberosExtension/Options/userName`` and a sign-in without a name have less precedence.
    @Test(arguments: ["FILE", "DIR"])
    func `the user's stored principal signs in by default, and does not select the session`(cache: String) async throws {
        let (home, kerberos) = try await twoSignedIn(cache: cache) { $0.options.configurations[0].userPrincipal = "carol@EXAMPLE.TEST" }
        #expect(try await kerberos.names.defaultPrincipal(realm: nil).description == "carol@EXAMPLE.TEST")
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
        try await kerberos.signIn(using: .secret)
        #expect(try await kerberos.grant(host).principal == "carol@EXAMPLE.TEST")
        home.clock.advance(by: 1)
        try await kerberos.makeDefault(try Principal("alice@EXAMPLE.TEST"))
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(try await home.makeExtension().grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(kerberos.policy.configurations.map(\.forPeers.userPrincipal) == [nil])
    }

    @Test func `a principal that is not signed in cannot become the default`() async throws {
        let (_, kerberos) = try await twoSignedIn()
        let carol = try Principal("carol@EXAMPLE.TEST")
        #expect(await kerberosError { try await kerberos.makeDefault(carol) }?.code == .noCredentials)
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
    }

    @Test func `the profile's principal answers even if it is not the default`() async throws {
        let (home, kerberos) = try await twoSignedIn { $0.options.configurations[0].principalName = "alice" }
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        try await kerberos.signOut(try Principal("alice@EXAMPLE.TEST"))
        // Bob is signed in, but the profile names Alice.
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
        _ = home
    }

    @Test(arguments: ["alice", "alice@EXAMPLE.TEST"])
    func `the caller's principal overrides the profile's`(name: String) async throws {
        let (_, kerberos) = try await twoSignedIn { $0.options.configurations[0].principalName = "bob" }
        #expect(try await kerberos.grant(host, as: name).principal == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
        let error = await authorizationError { try await kerberos.grant(host, as: "carol") }
        #expect(error?.code == .notSignedIn)
        #expect(error?.message.contains("carol@EXAMPLE.TEST") == true)
    }

    /// Bob is the default of the realm, and his cache is the primary one.
    @Test(
        arguments: [
            (.always, nil, "alice", "bob@EXAMPLE.TEST"), (.always, "alice", "bob", "alice@EXAMPLE.TEST"),
            (.whenNotSpecified, nil, "alice", "alice@EXAMPLE.TEST"), (.whenNotSpecified, "alice", "bob", "bob@EXAMPLE.TEST"),
            (.whenNotSpecified, "alice", nil, "alice@EXAMPLE.TEST"), (.kerberosDefault, "alice", nil, "bob@EXAMPLE.TEST"),
            (.kerberosDefault, "bob", "alice", "alice@EXAMPLE.TEST"),
        ] as [(CredentialUseMode, String?, String?, String)]
    )
    func `the profile's credentialUseMode decides which principal answers`(
        mode: CredentialUseMode,
        principal: String?,
        named: String?,
        answers: String
    )
        async throws
    {
        let (_, kerberos) = try await twoSignedIn(cache: "DIR") {
            $0.options.configurations[0].credentialUseMode = mode
            $0.options.configurations[0].principalName = principal
        }
        for _ in 1...2 { #expect(try await kerberos.grant(host, as: named).principal == answers) }
        let explanation = await kerberos.explanation(for: try #require(URL(string: "https://\(host)/")))
        #expect(explanation.reasons.contains { $0.rule == "credentialUseMode" && $0.detail.hasPrefix(mode.rawValue) })
        if named == nil { #expect(explanation.principal == answers) }
    }

    @Test func `an expired session does not answer for its realm`() async throws {
        var home = try CacheHome(try #require(TestRealm.current), cache: "DIR")
        home.options.configurations[0].principalName = nil
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        home.clock.advance(by: 1)
        try await kerberos.signIn("bob", using: .secret, options: .init(lifetime: .seconds(600)))
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
        home.clock.advance(by: 601)
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
    }
}
