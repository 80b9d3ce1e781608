import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// The identity that would answer a challenge, without a token.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "HTTP/asked.example.test"]))
struct IdentityTests {
    private func request(_ host: String, as principal: String? = nil, _ operation: AuthorizationOperation = .implicit) throws
        -> AuthorizationRequest
    {
        AuthorizationRequest(url: try #require(URL(string: "https://\(host)/")), operation: operation, principal: principal)
    }

    @Test func `the identity is that of the token, and both need one service ticket`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        let identity = try await kerberos.identity(for: try request("asked.example.test"))
        #expect(identity?.principal == "alice@EXAMPLE.TEST")
        #expect(identity?.servicePrincipal == "HTTP/asked.example.test@EXAMPLE.TEST")
        #expect(identity?.delegation == Delegation.none)
        #expect(try await kerberos.grant("asked.example.test").identity == identity)
        #expect(try realm.issued(.serviceTicket, client: "alice", server: "HTTP/asked.example.test") == 1)
    }

    @Test func `the profile decides the delegation of an identity, the caller its principal`() async throws {
        var home = try CacheHome(try #require(TestRealm.current), cache: "DIR")
        home.options.configurations[0].delegationHosts = [try HostRule("www.example.test")]
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        try await kerberos.signIn("bob", using: .secret)
        for name in ["alice", "bob"] {
            let identity = try await kerberos.identity(for: try request("www.example.test", as: name))
            #expect(identity?.principal == "\(name)@EXAMPLE.TEST")
            #expect(identity?.delegation == .byPolicy)
        }
    }

    @Test func `an unhandled host or operation has no identity`() async throws {
        let kerberos = try CacheHome(try #require(TestRealm.current)).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        #expect(try await kerberos.identity(for: try request("example.test")) == nil)
        for operation in [AuthorizationOperation.login, .refresh, .logout, .init(rawValue: "unheard-of")] {
            #expect(try await kerberos.identity(for: try request("www.example.test", operation)) == nil)
        }
        #expect(try await kerberos.sessions().sessions.count == 1, "the session is unchanged")
    }

    @Test func `without a session the identity is a not-signed-in error`() async throws {
        let kerberos = try CacheHome(try #require(TestRealm.current)).makeExtension()
        let error = await authorizationError { try await kerberos.identity(for: try request("www.example.test")) }
        #expect(error?.code == .notSignedIn)
    }
}
