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

/// Tokens for proxies, and the verification of a proxy's final token.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/proxy.example.test", "HTTP/other.example.test"]))
struct ProxyTicketTests {
    private static let address = "http://proxy.example.test:3128"

    private func signedIn(change: (inout ExtensionConfiguration) throws -> Void = { _ in }) async throws -> (TestRealm, KerberosExtension) {
        let realm = try #require(TestRealm.current)
        var configuration = ExtensionConfiguration(realm: realm.name)
        configuration.proxyHosts = [try HostRule("proxy.example.test")]
        try change(&configuration)
        let kerberos = try CacheHome(realm, configurations: [configuration]).makeExtension()
        try await kerberos.signIn("alice", using: .secret, options: InitialCredentialOptions(isForwardable: true))
        return (realm, kerberos)
    }

    private func request(_ address: String = address) throws -> AuthorizationRequest {
        AuthorizationRequest(url: try #require(URL(string: address)), challenger: .proxy)
    }

    private func grant(_ kerberos: KerberosExtension) async throws -> AuthorizationGrant {
        guard case .headers(let grant) = try await kerberos.beginAuthorization(with: request()) else {
            throw AuthorizationError(.notHandled, "The proxy is not handled.")
        }
        return grant
    }

    @Test func `a proxy accepts the token and its final token verifies`() async throws {
        let (realm, kerberos) = try await signedIn()
        let grant = try await grant(kerberos)
        #expect(grant.servicePrincipal == "HTTP/proxy.example.test@EXAMPLE.TEST")
        #expect(grant.headers.map(\.name) == [.proxyAuthorization])
        let acceptance = try Acceptance(grant.proxyToken, keytab: realm.keytabPath)
        #expect(acceptance.client == "alice@EXAMPLE.TEST" && acceptance.service == "HTTP/proxy.example.test@EXAMPLE.TEST")
        #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
    }

    @Test func `a forged final token of a proxy does not verify`() async throws {
        let (realm, kerberos) = try await signedIn()
        let (first, second) = (try await grant(kerberos), try await grant(kerberos))
        let reply = try Acceptance(first.proxyToken, keytab: realm.keytabPath).reply
        #expect(await authorizationError { try await second.exchange.respond(to: reply) } != nil)
    }

    @Test func `a proxy never gets the user's own ticket`() async throws {
        let (realm, kerberos) = try await signedIn { configuration in
            configuration.hosts = [try HostRule(".example.test")]
            configuration.unconditionalDelegationHosts = [try HostRule("proxy.example.test")]
        }
        let grant = try await grant(kerberos)
        #expect(!grant.exchange.isDelegated && grant.identity.delegation == .none)
        #expect(try Acceptance(grant.proxyToken, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
    }

    @Test func `a token that is ready is for the proxy too`() async throws {
        let (realm, kerberos) = try await signedIn()
        _ = try await grant(kerberos)
        let grant = try #require(await kerberos.readyGrant(for: request()))
        #expect(grant.headers.map(\.name) == [.proxyAuthorization])
        #expect(try Acceptance(grant.proxyToken, keytab: realm.keytabPath).client == "alice@EXAMPLE.TEST")
        #expect(try await kerberos.identity(for: request()) == grant.identity)
    }

    @Test(arguments: ["http://other.example.test:3128", "http://proxy.example.test.evil.test:3128", "http://127.0.0.1:3128"])
    func `a proxy that the profile does not list gets nothing`(address: String) async throws {
        let (_, kerberos) = try await signedIn { $0.hosts = [try HostRule(".example.test")] }
        let request = try request(address)
        guard case .notHandled(let reasons) = try await kerberos.beginAuthorization(with: request) else {
            Issue.record("\(address) got a token")
            return
        }
        #expect(reasons == kerberos.decision(for: request.url, challenger: .proxy).reasons)
        #expect(await kerberos.readyGrant(for: request) == nil)
        #expect(try await kerberos.identity(for: request) == nil)
    }
}

extension AuthorizationGrant {
    /// The token of the `Proxy-Authorization` field.
    fileprivate var proxyToken: [UInt8] {
        let value = headers[.proxyAuthorization] ?? ""
        return Data(base64Encoded: String(value.dropFirst("Negotiate ".count))).map { Array($0) } ?? []
    }
}
