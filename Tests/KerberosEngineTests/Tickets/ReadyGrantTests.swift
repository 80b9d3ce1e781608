import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Ready grants, which use a cached service ticket and never ask the KDC.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/ready.example.test"]))
struct ReadyGrantTests {
    private func request(
        _ host: String = "ready.example.test",
        _ operation: AuthorizationOperation = .implicit,
        as principal: String? = nil,
        channelBindings: [UInt8]? = nil
    ) throws -> AuthorizationRequest {
        AuthorizationRequest(
            url: try #require(URL(string: "https://\(host)/")),
            operation: operation,
            principal: principal,
            channelBindings: channelBindings
        )
    }

    /// An environment whose clock is stopped, because a ready grant requires that the session was checked less than two seconds ago.
    private func makeHome() throws -> CacheHome {
        var home = try CacheHome(try #require(TestRealm.current))
        home.options.clock = { [clock = home.clock] in clock.stoppedNow }
        return home
    }

    @Test func `a ready grant requires a cached ticket and requests none`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try makeHome().makeExtension()
        #expect(await kerberos.readyGrant(for: try request()) == nil, "no one is signed in")
        try await kerberos.signIn("alice", using: .secret)
        #expect(await kerberos.readyGrant(for: try request()) == nil, "no ticket")
        #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/ready.example.test") == 0)
        let asked = try await kerberos.grant("ready.example.test")
        let bindings = Array("tls-server-end-point:made up".utf8)
        let grant = try #require(await kerberos.readyGrant(for: try request(channelBindings: bindings)))
        #expect(grant.identity == asked.identity)
        let end = try Acceptance(grant.token, keytab: realm.keytabPath, channelBindings: ChannelBindings(applicationData: bindings))
        #expect(end.flags.contains(.channelBound))
        #expect(try await grant.exchange.respond(to: end.reply) == .established)
        #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/ready.example.test") == 1)
    }

    @Test func `an unhandled host, principal or operation has no ready grant`() async throws {
        let kerberos = try makeHome().makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant("www.example.test")
        #expect(await kerberos.readyGrant(for: try request("www.example.test")) != nil)
        #expect(await kerberos.readyGrant(for: try request("example.test")) == nil)
        #expect(await kerberos.readyGrant(for: try request("www.example.test", as: "bob")) == nil)
        for operation in [AuthorizationOperation.login, .refresh, .logout, .init(rawValue: "unheard-of")] {
            #expect(await kerberos.readyGrant(for: try request("www.example.test", operation)) == nil)
        }
    }

    /// Another process may have signed out, which only reading the cache shows.
    @Test func `a session that was not checked recently has no ready grant`() async throws {
        let home = try makeHome()
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        _ = try await kerberos.grant("www.example.test")
        home.clock.advance(by: 3)
        #expect(await kerberos.readyGrant(for: try request("www.example.test")) == nil)
        _ = try await kerberos.grant("www.example.test")
        #expect(await kerberos.readyGrant(for: try request("www.example.test")) != nil)
        try await kerberos.signOut(Principal("alice@EXAMPLE.TEST"))
        #expect(await kerberos.readyGrant(for: try request("www.example.test")) == nil)
    }
}
