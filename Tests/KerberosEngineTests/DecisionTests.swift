import Foundation
import HTTPNegotiate
import Kerberos
import TestSupport
import Testing

@testable import KerberosEngine

/// Decisions, session lists and default principals, which need neither a realm nor a cache.
struct DecisionTests {
    private func makeExtension(_ configurations: [ExtensionConfiguration]) -> KerberosExtension {
        let missing = "FILE:/nonexistent/\(UUID().uuidString)"
        return KerberosExtension(.init(configurations: configurations, base: .none, defaultCacheName: missing))
    }

    @Test func `the extension's decision is that of its policy`() throws {
        let configurations = [ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".a.test")])]
        let kerberos = makeExtension(configurations)
        for text in ["https://www.a.test/", "http://www.a.test/", "https://b.test/", "https://127.0.0.1/"] {
            let url = try #require(URL(string: text))
            #expect(kerberos.decision(for: url) == DecisionPolicy(configurations).decision(for: url))
        }
    }

    @Test func `without a profile no host is handled`() async throws {
        let kerberos = makeExtension([])
        let url = try #require(URL(string: "https://www.a.test/"))
        guard case .notHandled = try await kerberos.beginAuthorization(with: .init(url: url)) else {
            Issue.record("a host was handled without a profile")
            return
        }
        let explanation = await kerberos.explanation(for: url)
        #expect(!explanation.isHandled)
        #expect(explanation.principal == nil && explanation.servicePrincipal == nil)
    }

    @Test func `a request is decided once, unless its URL or the policy changes`() async throws {
        let url = try #require(URL(string: "https://www.a.test/"))
        let uncovered = try #require(URL(string: "https://www.b.test/"))
        let configurations = [ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".a.test")])]
        let other = [ExtensionConfiguration(realm: "A.TEST", hosts: try [HostRule(".a.test"), HostRule(".b.test")])]
        let kerberos = makeExtension(configurations)
        func isHandled(_ url: URL, plan: AuthorizationPlan?, thenFor later: URL? = nil) async throws -> Bool {
            var request = AuthorizationRequest(url: url)
            request.plan = plan
            if let later { request.url = later }
            do throws(AuthorizationError) {
                if case .notHandled = try await kerberos.beginAuthorization(with: request) { return false }
            } catch {
                #expect(error.code == .notSignedIn)
            }
            return true
        }
        let plan = try #require(DecisionPolicy(configurations).decision(for: url).plan)
        // The plan shows that the URL is not decided about again.
        #expect(try await isHandled(uncovered, plan: plan))
        #expect(try await !isHandled(url, plan: plan, thenFor: uncovered))
        let foreign = try #require(DecisionPolicy(other).decision(for: uncovered).plan)
        #expect(try await !isHandled(uncovered, plan: foreign))
        #expect(try await isHandled(url, plan: foreign))
    }

    @Test func `a plan for a server never answers a proxy of the same name, and vice versa`() async throws {
        let url = try #require(URL(string: "https://www.a.test/"))
        let rules = [try HostRule(".a.test")]
        var both = ExtensionConfiguration(realm: "A.TEST", hosts: rules)
        both.proxyHosts = rules
        for (configuration, wrong) in [(ExtensionConfiguration(realm: "A.TEST", hosts: rules), Challenger.proxy), (both, .origin)] {
            var configuration = configuration
            if wrong == .origin { configuration.hosts = [] }
            let policy = DecisionPolicy([configuration])
            var request = AuthorizationRequest(url: url, challenger: wrong)
            request.plan = try #require(policy.decision(for: url, challenger: wrong == .proxy ? .origin : .proxy).plan)
            let kerberos = makeExtension([configuration])
            guard case .notHandled = try await kerberos.beginAuthorization(with: request) else {
                Issue.record("The plan answered the \(wrong)")
                continue
            }
            #expect(try await kerberos.identity(for: request) == nil)
            #expect(await kerberos.readyGrant(for: request) == nil)
        }
    }

    @Test func `a change of the challenger drops the plan`() throws {
        let url = try #require(URL(string: "https://www.a.test/"))
        var request = AuthorizationRequest(url: url)
        let policy = DecisionPolicy([ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule(".a.test")])])
        request.plan = policy.decision(for: url).plan
        request.challenger = .proxy
        #expect(request.plan == nil)
    }

    @Test func `without a cache there is no session`() async throws {
        let kerberos = makeExtension([])
        let list = try await kerberos.sessions()
        #expect(list.sessions.isEmpty && list.damagedCaches.isEmpty)
        #expect(try await kerberos.signOut().ended.isEmpty)
    }

    @Test func `the profiles and the local user name decide the default realm and principal`() async throws {
        let kerberos = makeExtension([.init(realm: "A.TEST", principalName: "alice"), .init(realm: "B.TEST", isDefaultRealm: true)])
        #expect(try await kerberos.names.defaultRealm() == "B.TEST")
        #expect(try await kerberos.names.defaultPrincipal(realm: "A.TEST").description == "alice@A.TEST")
        var options = kerberos.clients.options
        options.userName = "root"
        #expect(try await KerberosExtension(options).names.defaultPrincipal(realm: nil).description == "root@B.TEST")
        #expect(try await kerberos.names.principal("carol", realm: "C.TEST").description == "carol@C.TEST")
        #expect(try await kerberos.names.principal("carol@D.TEST", realm: "C.TEST").description == "carol@D.TEST")
        #expect(await kerberosError { try await kerberos.names.defaultPrincipal(realm: nil) }?.code == .malformedPrincipal)
        #expect(await kerberosError { try await kerberos.names.principal("") }?.code == .malformedPrincipal)
    }
}
