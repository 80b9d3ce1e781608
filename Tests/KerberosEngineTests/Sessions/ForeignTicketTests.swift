import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Tickets that other programs put into the same cache are neither misused nor destroyed.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "app"]))
struct ForeignTicketTests {
    private let host = "www.example.test"

    private func makeHome() throws -> CacheHome { try CacheHome(try #require(TestRealm.current)) }

    /// A service got a ticket to itself for a user (S4U2Self): used as its own ticket, it would sign the service in as the user.
    @Test func `a cached ticket of another client principal is not used`() async throws {
        let home = try makeHome()
        let service = "HTTP/\(host)"
        try await home.makeExtension().signIn(service, using: .keytab(home.realm.keytabPath))
        _ = try await home.run("kvno", ["-U", "bob", service])
        #expect(try await home.run("klist", []).output.contains("for client bob@EXAMPLE.TEST"))

        let kerberos = home.makeExtension()
        #expect(try await kerberos.sessions().sessions.map(\.services.count) == [0])
        let grant = try await kerberos.grant(host)
        #expect(grant.principal == "\(service)@EXAMPLE.TEST")
        #expect(try Acceptance(grant.token, keytab: home.realm.keytabPath).client == "\(service)@EXAMPLE.TEST")
        #expect(try await kerberos.sessions().sessions.map(\.services.count) == [1])
        // A third process finds both tickets in the cache.
        #expect(try await home.makeExtension().grant(host).principal == "\(service)@EXAMPLE.TEST")
    }

    /// A cache with only a service ticket is not a session, but its ticket is valid.
    @Test func `a sign-in does not overwrite a cache with only a service ticket`() async throws {
        let home = try makeHome()
        try await home.kinit("bob", ["-S", "HTTP/\(host)"])
        let before = try Data(contentsOf: URL(filePath: home.defaultCache.residual))
        let session = try await home.makeExtension().signIn("alice", using: .secret)
        #expect(session.cache != home.defaultCache)
        #expect(session.cache.path?.hasPrefix("\(home.directory)/caches/tkt") == true)
        #expect(try Data(contentsOf: URL(filePath: home.defaultCache.residual)) == before)
        #expect(try await home.makeExtension().grant(host).principal == "alice@EXAMPLE.TEST")
    }

    /// Another principal signed in to the same cache after the session was read.
    @Test func `a refresh does not replace another principal's tickets`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        let session = try await kerberos.signIn("app", using: .keytab(home.realm.keytabPath))
        #expect(session.cache == home.defaultCache)
        try await home.kinit("bob")
        let before = try Data(contentsOf: URL(filePath: home.defaultCache.residual))
        let error = await kerberosError { try await kerberos.refresh(session) }
        #expect(error?.code == .cacheUnusable)
        #expect(error?.message.contains("bob@EXAMPLE.TEST") == true)
        #expect(try Data(contentsOf: URL(filePath: home.defaultCache.residual)) == before)
        #expect(try await home.makeExtension().grant(host).principal == "bob@EXAMPLE.TEST")
    }

    /// Anyone who can write the cache could choose the principal that the user acts as.
    @Test func `a cache that other users can write is neither read nor overwritten`() async throws {
        let home = try makeHome()
        try await home.kinit("bob")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: home.defaultCache.residual)
        let before = try Data(contentsOf: URL(filePath: home.defaultCache.residual))
        let kerberos = home.makeExtension()
        let list = try await kerberos.sessions()
        #expect(list.sessions.isEmpty)
        #expect(list.damagedCaches.map(\.code) == [.cacheUnusable])
        let error = await authorizationError { try await kerberos.grant(host) }
        #expect((error?.cause as? KerberosError)?.code == .cacheUnusable)
        #expect(await kerberosError { try await kerberos.signIn("alice", using: .secret) }?.code == .cacheUnusable)
        #expect(try Data(contentsOf: URL(filePath: home.defaultCache.residual)) == before)
    }
}
