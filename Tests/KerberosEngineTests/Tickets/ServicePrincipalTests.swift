import Foundation
import HTTPNegotiate
import Kerberos
import KerberosEngine
import KerberosTesting
import KerberosTestingTraits
import SignOnPolicy
import TestSupport
import Testing

/// The service principal of a request: derived from the URL's host, or set by the profile for one origin.
@Suite(
    .testRealm(
        users: ["alice": "secret"],
        services: ["HTTP/www.example.test", "HTTP/alias.example.test", "web/alias.example.test", "webservice"]
    )
)
struct ServicePrincipalTests {
    private func makeExtension(_ overrides: [String: String] = [:]) async throws -> (TestRealm, KerberosExtension) {
        let realm = try #require(TestRealm.current)
        var home = try CacheHome(realm)
        home.options.configurations[0].plainHTTPHosts = [try HostRule(".example.test")]
        for (origin, service) in overrides {
            home.options.configurations[0].servicePrincipals[try Origin(url: origin)] = service
        }
        let kerberos = home.makeExtension()
        try await kerberos.signIn("alice", using: .secret)
        return (realm, kerberos)
    }

    /// The port is ignored, and DNS is not used: it has none of these names.
    @Test(arguments: [
        "https://www.example.test", "https://www.example.test:8443", "http://www.example.test:8080", "https://WWW.example.test.",
    ])
    func `the service principal is derived from the URL's host`(origin: String) async throws {
        let (realm, kerberos) = try await makeExtension()
        let grant = try await kerberos.grant(origin: origin)
        #expect(grant.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
        #expect(try Acceptance(grant.token, keytab: realm.keytabPath).service == "HTTP/www.example.test@EXAMPLE.TEST")
    }

    @Test(
        arguments: [
            "HTTP/alias.example.test", "HTTP/alias.example.test@EXAMPLE.TEST", "web/alias.example.test", "webservice@EXAMPLE.TEST",
        ]
    )
    func `the profile overrides the service principal of an origin`(service: String) async throws {
        let origin = "https://www.example.test:8443"
        let (realm, kerberos) = try await makeExtension([origin: service])
        let full = service.contains("@") ? service : "\(service)@EXAMPLE.TEST"
        for _ in 0..<2 {
            let grant = try await kerberos.grant(origin: origin)
            #expect(grant.servicePrincipal == full)
            #expect(try Acceptance(grant.token, keytab: realm.keytabPath).service == full)
        }
        // The cached ticket is found by the overriding name.
        let explanation = await kerberos.explanation(for: try #require(URL(string: origin)))
        #expect(explanation.servicePrincipal == full)
        #expect(explanation.reasons.contains { $0.rule == "ticket" && $0.verdict == .passed })
    }

    /// A redirect can lead to another port or scheme.
    @Test(arguments: [
        "https://www.example.test", "https://www.example.test:8444", "http://www.example.test:8443", "http://www.example.test",
    ])
    func `an override applies to one origin only`(origin: String) async throws {
        let named = "https://www.example.test:8443"
        let (_, kerberos) = try await makeExtension([named: "HTTP/alias.example.test"])
        #expect(try await kerberos.grant(origin: named).servicePrincipal == "HTTP/alias.example.test@EXAMPLE.TEST")
        #expect(try await kerberos.grant(origin: origin).servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
        #expect(try await kerberos.grant(origin: named).servicePrincipal == "HTTP/alias.example.test@EXAMPLE.TEST")
    }

    @Test(arguments: ["", "/", "HTTP/www\\", "HTTP/a@B@C", "@EXAMPLE.TEST"])
    func `a malformed override is reported with the origin that it is set for`(service: String) async throws {
        let origin = "https://www.example.test"
        let (_, kerberos) = try await makeExtension([origin: service])
        let error = await authorizationError { try await kerberos.grant(origin: origin) }
        #expect(error?.code == .failed)
        #expect((error?.cause as? KerberosError)?.code == .malformedPrincipal)
        #expect(error?.message.contains("ServicePrincipals of the profile sets it for https://www.example.test") == true)
        // The explanation finds no ticket for it either.
        let explanation = await kerberos.explanation(for: try #require(URL(string: origin)))
        #expect(explanation.reasons.allSatisfy { $0.rule != "ticket" || $0.verdict != .passed })
    }
}
