import Foundation
import HTTPNegotiate
import Kerberos
import Testing

@testable import KerberosEngine

/// What needs no realm: verdicts, and what happens with no caches at all.
struct DecisionTests {
    private func makeExtension(_ configurations: [ExtensionConfiguration]) -> KerberosExtension {
        let missing = "FILE:/nonexistent/\(UUID().uuidString)"
        return KerberosExtension(.init(configurations: configurations, base: .none, defaultCacheName: missing))
    }

    @Test func `the verdict is that of the policy`() throws {
        let configurations = [ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".a.test")])]
        let kerberos = makeExtension(configurations)
        for text in ["https://www.a.test/", "http://www.a.test/", "https://b.test/", "https://127.0.0.1/"] {
            let url = try #require(URL(string: text))
            #expect(kerberos.decision(for: url) == DecisionPolicy(configurations).decision(for: url))
        }
    }

    @Test func `no profile means that no host is answered`() async throws {
        let kerberos = makeExtension([])
        let url = try #require(URL(string: "https://www.a.test/"))
        guard case .notHandled = try await kerberos.beginAuthorization(with: .init(url: url)) else {
            Issue.record("a host was answered without a profile")
            return
        }
        let explanation = await kerberos.explanation(for: url)
        #expect(!explanation.isHandled)
        #expect(explanation.principal == nil && explanation.servicePrincipal == nil)
    }

    @Test func `no cache means no session`() async throws {
        let kerberos = makeExtension([])
        let list = try await kerberos.sessions()
        #expect(list.sessions.isEmpty && list.damagedCaches.isEmpty)
        #expect(try await kerberos.signOut().ended.isEmpty)
    }

    @Test func `who signs in`() async throws {
        let kerberos = makeExtension([.init(realm: "A.TEST", principalName: "alice"), .init(realm: "B.TEST", isDefaultRealm: true)])
        #expect(try await kerberos.defaultRealm() == "B.TEST")
        #expect(try await kerberos.defaultPrincipal(realm: "A.TEST").description == "alice@A.TEST")
        var options = kerberos.options
        options.userName = "root"
        #expect(try await KerberosExtension(options).defaultPrincipal(realm: nil).description == "root@B.TEST")
        #expect(try await kerberos.principal("carol", realm: "C.TEST").description == "carol@C.TEST")
        #expect(try await kerberos.principal("carol@D.TEST", realm: "C.TEST").description == "carol@D.TEST")
        #expect(await kerberosError { try await kerberos.defaultPrincipal(realm: nil) }?.code == .malformedPrincipal)
        #expect(await kerberosError { try await kerberos.principal("") }?.code == .malformedPrincipal)
    }
}
