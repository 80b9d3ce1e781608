import Kerberos
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

@testable import KerberosEngine

/// Sessions of a user who signed in with an alias: the KDC returned a ticket for another principal name.
@Suite(.testRealm(users: ["alice": "secret", "al": "secret"]))
struct AliasTests {
    /// Signs in as `al` as if the KDC had returned a ticket for `alice`: MIT's own database has no aliases.
    private func signInAsAl(_ home: CacheHome) async throws -> KerberosExtension {
        let client = KerberosClient(home.realm.configuration(defaultCacheName: home.defaultCache.rawValue))
        let ticket = try await client.initialCredential(for: try Principal("alice@EXAMPLE.TEST"), using: .secret)
        let kerberos = home.makeExtension()
        let answer = SignInTicket(ticket)
        let name = SessionMark.requestedName(try Principal("al@EXAMPLE.TEST"), of: answer)
        let marks = SessionMark.all(for: PasswordCredential(), at: home.clock.now).merging(name) { $1 }
        let session = try await kerberos.signIns.store.keep(answer, marks: marks)
        #expect(session.principal.description == "alice@EXAMPLE.TEST" && session.alias?.description == "al@EXAMPLE.TEST")
        return kerberos
    }

    @Test(arguments: ["al", "alice"]) func `a session can be selected by its principal or by its alias`(_ name: String) async throws {
        let kerberos = try await signInAsAl(try CacheHome(try #require(TestRealm.current)))
        let principal = try Principal("\(name)@EXAMPLE.TEST")
        #expect(try await kerberos.makeDefault(principal).principal.description == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.sessions().session(of: principal) != nil)
        let result = try await kerberos.signOut(principal)
        #expect(result.ended.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
        #expect(try await kerberos.sessions().sessions.isEmpty)
    }

    @Test func `a session of the named principal takes precedence over an alias`() async throws {
        let home = try CacheHome(try #require(TestRealm.current), cache: "DIR")
        let kerberos = try await signInAsAl(home)
        try await kerberos.signIn("al", using: .secret)
        let result = try await kerberos.signOut(try Principal("al@EXAMPLE.TEST"))
        #expect(result.ended.map(\.principal.description) == ["al@EXAMPLE.TEST"])
        #expect(try await kerberos.sessions().sessions.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
    }

    @Test func `a sign-in with the principal's own name clears the alias`() async throws {
        let home = try CacheHome(try #require(TestRealm.current))
        _ = try await signInAsAl(home)
        #expect(try await home.makeExtension().signIn("alice", using: .secret).alias == nil)
    }
}
