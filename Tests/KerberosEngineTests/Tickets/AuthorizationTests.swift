import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// Tokens for the hosts that the profile covers, and the verification of the server's final token.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/other.example.test"]))
struct AuthorizationTests {
    private func signedIn() async throws -> (TestRealm, KerberosExtension) {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        return (realm, kerberos)
    }

    @Test func `the server accepts the token and its final token verifies`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("www.example.test")
        #expect(grant.principal == "alice@EXAMPLE.TEST")
        #expect(grant.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
        #expect(grant.headers.count == 1)
        let acceptance = try Acceptance(grant.token, keytab: realm.keytabPath)
        #expect(acceptance.client == "alice@EXAMPLE.TEST")
        #expect(acceptance.service == "HTTP/www.example.test@EXAMPLE.TEST")
        #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
    }

    @Test func `a second final token is rejected`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("www.example.test")
        let reply = try Acceptance(grant.token, keytab: realm.keytabPath).reply
        _ = try await grant.exchange.respond(to: reply)
        #expect(await authorizationError { try await grant.exchange.respond(to: reply) }?.code == .invalidResponse)
    }

    @Test(arguments: [[], [0], Array("garbage that is no token".utf8), Array("NTLMSSP\0".utf8)] as [[UInt8]])
    func `a malformed final token is rejected and invalidates the exchange`(token: [UInt8]) async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("www.example.test")
        #expect(await authorizationError { try await grant.exchange.respond(to: token) }?.code == .invalidResponse)
        let reply = try Acceptance(grant.token, keytab: realm.keytabPath).reply
        // A failed context stays unusable, even for the correct token.
        #expect(await authorizationError { try await grant.exchange.respond(to: reply) }?.code == .invalidResponse)
    }

    @Test func `a final token of another exchange does not verify`() async throws {
        let (realm, kerberos) = try await signedIn()
        let first = try await kerberos.grant("www.example.test")
        let second = try await kerberos.grant("www.example.test")
        let reply = try Acceptance(first.token, keytab: realm.keytabPath).reply
        #expect(await authorizationError { try await second.exchange.respond(to: reply) } != nil)
    }

    @Test func `each request gets its own token`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grants = [try await kerberos.grant("other.example.test"), try await kerberos.grant("other.example.test")]
        #expect(grants[0].token != grants[1].token)
        for grant in grants { #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST") }
    }

    @Test func `a host in upper case or with a trailing dot maps to the same service`() async throws {
        let (_, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("WWW.Example.TEST.")
        #expect(grant.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
    }

    @Test func `a request without a session fails and suggests ksso login`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try CacheHome(realm).makeExtension()
        let error = await authorizationError { try await kerberos.grant("www.example.test") }
        #expect(error?.code == .notSignedIn)
        #expect(error?.message.contains("ksso login") == true)
    }

    @Test func `a service unknown to the KDC is reported with its host name`() async throws {
        let (_, kerberos) = try await signedIn()
        let error = await authorizationError { try await kerberos.grant("unknown.example.test") }
        #expect(error?.code == .failed)
        #expect((error?.cause as? KerberosError)?.code == .unknownService)
        #expect(error?.message.contains("unknown.example.test") == true)
    }

    @Test func `a host without a matching rule is not handled`() async throws {
        let (_, kerberos) = try await signedIn()
        let url = try #require(URL(string: "https://www.example.test.evil.test/"))
        guard case .notHandled(let reasons) = try await kerberos.beginAuthorization(with: .init(url: url)) else {
            Issue.record("\(url) was handled")
            return
        }
        #expect(reasons == kerberos.decision(for: url).reasons)
        #expect(reasons.contains { $0.rule == "hostRule" && $0.verdict == .failed })
    }
}
