import Foundation
import HTTPNegotiate
import HTTPTypes
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test", "HTTP/other.example.test"]))
struct AuthorizationTests {
    private func signedIn() async throws -> (TestRealm, KerberosExtension) {
        let realm = try #require(TestRealm.current)
        let kerberos = try Home(realm).makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        return (realm, kerberos)
    }

    @Test func `token is accepted and the final token verifies`() async throws {
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

    @Test func `a second final token is refused`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("www.example.test")
        let reply = try Acceptance(grant.token, keytab: realm.keytabPath).reply
        _ = try await grant.exchange.respond(to: reply)
        #expect(await authorizationError { try await grant.exchange.respond(to: reply) }?.code == .invalidResponse)
    }

    @Test(arguments: [[], [0], Array("garbage that is no token".utf8), Array("NTLMSSP\0".utf8)] as [[UInt8]])
    func `garbage is no final token`(token: [UInt8]) async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("www.example.test")
        #expect(await authorizationError { try await grant.exchange.respond(to: token) }?.code == .invalidResponse)
        let reply = try Acceptance(grant.token, keytab: realm.keytabPath).reply
        // A context that failed is of no further use, even for the right token.
        #expect(await authorizationError { try await grant.exchange.respond(to: reply) }?.code == .invalidResponse)
    }

    @Test func `another exchanges final token does not verify`() async throws {
        let (realm, kerberos) = try await signedIn()
        let first = try await kerberos.grant("www.example.test")
        let second = try await kerberos.grant("www.example.test")
        let reply = try Acceptance(first.token, keytab: realm.keytabPath).reply
        #expect(await authorizationError { try await second.exchange.respond(to: reply) } != nil)
    }

    @Test func `each request gets a token of its own`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grants = [try await kerberos.grant("other.example.test"), try await kerberos.grant("other.example.test")]
        #expect(grants[0].token != grants[1].token)
        for grant in grants { #expect(try Acceptance(grant.token, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST") }
    }

    @Test func `hosts in upper case and with a trailing dot are the same service`() async throws {
        let (_, kerberos) = try await signedIn()
        let grant = try await kerberos.grant("WWW.Example.TEST.")
        #expect(grant.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
    }

    @Test func `nobody signed in`() async throws {
        let realm = try #require(TestRealm.current)
        let kerberos = try Home(realm).makeExtension()
        let error = await authorizationError { try await kerberos.grant("www.example.test") }
        #expect(error?.code == .notSignedIn)
        #expect(error?.message.contains("ksso login") == true)
    }

    @Test func `a service that the KDC does not know`() async throws {
        let (_, kerberos) = try await signedIn()
        let error = await authorizationError { try await kerberos.grant("unknown.example.test") }
        #expect(error?.code == .failed)
        #expect((error?.cause as? KerberosError)?.code == .unknownService)
        #expect(error?.message.contains("unknown.example.test") == true)
    }

    @Test func `a host that no rule covers is left alone`() async throws {
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
