import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Which tickets a sign-out destroys, and changes by other programs that the extension notices.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "app"]))
struct SignOutTests {
    private let host = "www.example.test"

    private func makeHome(cache: String = "FILE") throws -> CacheHome { try CacheHome(try #require(TestRealm.current), cache: cache) }

    @Test func `a sign-out destroys the extension's own tickets at once`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant(host)
        let result = try await kerberos.signOut()
        #expect(result.ended.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
        #expect(result.left.isEmpty)
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
        #expect(await kerberosFailure { try await home.run("klist", ["-s"]) })
    }

    @Test func `a sign-out ends only the session of the named principal or realm`() async throws {
        let kerberos = try makeHome(cache: "DIR").makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        try await kerberos.signIn("bob", using: .secret)
        #expect(try await kerberos.signOut(realm: "OTHER.TEST").ended.isEmpty)
        #expect(try await kerberos.signOut(try Principal("bob@EXAMPLE.TEST")).ended.count == 1)
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
    }

    @Test(arguments: ["FILE", "DIR"])
    func `a sign-out leaves kinit's tickets unless it includes others`(cache: String) async throws {
        let home = try makeHome(cache: cache)
        try await home.kinit("alice")
        let kerberos = home.makeExtension()
        try await kerberos.signIn("bob", using: .secret)
        let result = try await kerberos.signOut()
        #expect(result.ended.map(\.principal.description) == ["bob@EXAMPLE.TEST"])
        #expect(result.left.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
        #expect(result.left.map(\.acquiredBy) == [.other])
        #expect(try await kerberos.grant(host).principal == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.signOut(includingOthers: true).ended.count == 1)
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
    }

    /// kinit overwrites the cache, so the tickets in it are kinit's.
    @Test func `tickets of kinit that replaced the extension's are left`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        try await home.kinit("alice")
        let result = try await kerberos.signOut()
        #expect(result.ended.isEmpty && result.left.count == 1)
        _ = try await home.run("klist", ["-s"])
    }

    @Test func `another program's sign-out is noticed`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant(host)
        _ = try await home.run("kdestroy", [])
        home.clock.advance(by: 2)
        #expect(await authorizationError { try await kerberos.grant(host) }?.code == .notSignedIn)
    }

    @Test func `another program's sign-in is noticed`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant(host)
        try await home.kinit("bob")
        home.clock.advance(by: 2)
        #expect(try await kerberos.grant(host).principal == "bob@EXAMPLE.TEST")
    }

    @Test func `a service's sign-out ends only its own session`() async throws {
        var home = try makeHome()
        try await home.makeExtension().signIn("alice", using: .secret)
        home.options.credential = .keytab(.keytab(home.realm.keytabPath), principal: "app")
        let service = home.makeExtension()
        _ = try await service.grant(host)
        #expect(try await service.signOut().ended.map(\.principal.description) == ["app@EXAMPLE.TEST"])
        #expect(try await service.sessions().sessions.isEmpty)
        _ = try await home.run("klist", ["-s"])  // alice is still signed in
        #expect(try await service.grant(host).principal == "app@EXAMPLE.TEST")
    }

    /// A service's tickets are in the memory of its process, not in the shared caches.
    @Test func `a service's session is not visible to a user's extension`() async throws {
        var home = try makeHome()
        let user = home.makeExtension()
        home.options.credential = .keytab(.keytab(home.realm.keytabPath), principal: "app")
        let service = home.makeExtension()
        _ = try await service.grant(host)
        #expect(try await user.sessions().sessions.isEmpty)
        #expect(try await user.signOut(includingOthers: true).ended.isEmpty)
        #expect(try await service.sessions().sessions.map(\.principal.description) == ["app@EXAMPLE.TEST"])
    }

    private func kerberosFailure<Value>(_ body: () async throws -> Value) async -> Bool {
        do {
            _ = try await body()
            return false
        } catch {
            return error is ProgramFailure
        }
    }
}
