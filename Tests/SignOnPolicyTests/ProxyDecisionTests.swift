import Foundation
import SignOnPolicy
import TestSupport
import Testing

/// Which proxies get a ticket, and the reasons for that decision.
struct ProxyDecisionTests {
    struct Vectors: Decodable {
        struct Configuration: Decodable {
            let realm: String
            let source: String
            let hosts: [String]
            let proxyHosts: [String]
            let mapping: [String: [String]]
            let services: [String: String]
            let optional: [String]
            let off: [String]

            func make() throws -> ExtensionConfiguration {
                var configuration = ExtensionConfiguration(
                    realm: realm,
                    hosts: try rules(hosts),
                    domainRealmMapping: mapping,
                    source: source
                )
                configuration.proxyHosts = try rules(proxyHosts)
                configuration.optionalMutualAuthenticationHosts = try rules(optional)
                configuration.noMutualAuthenticationHosts = try rules(off)
                for (origin, service) in services { configuration.servicePrincipals[try Origin(url: origin)] = service }
                return configuration
            }

            private func rules(_ texts: [String]) throws -> [HostRule] { try texts.map { try HostRule($0) } }
        }

        struct Decision: Decodable, CustomTestStringConvertible {
            let url: String
            let servicePrincipal: String?
            let hostRule: String?
            let realm: String?
            let mutual: String?
            let failed: [String]?
            let mentions: [String]
            var testDescription: String { url }
        }

        let configurations: [Configuration]
        let decisions: [Decision]
    }

    private func policy() throws -> DecisionPolicy {
        DecisionPolicy(try FixtureFile.load("proxy-decisions", in: .module, as: Vectors.self).configurations.map { try $0.make() })
    }

    @Test(arguments: try FixtureFile.load("proxy-decisions", in: .module, as: Vectors.self).decisions)
    func `a proxy has the expected plan and reasons`(_ vector: Vectors.Decision) throws {
        let decision = try policy().decision(for: try #require(URL(string: vector.url)), challenger: .proxy)
        #expect(decision.plan?.servicePrincipal == vector.servicePrincipal)
        #expect(decision.plan?.hostRule.description == vector.hostRule)
        #expect(decision.plan?.realm == vector.realm)
        #expect(decision.plan?.mutualAuthentication.rawValue == vector.mutual)
        #expect(Set(decision.reasons.filter { $0.verdict == .failed }.map(\.rule)) == Set(vector.failed ?? []))
        for text in vector.mentions { #expect(decision.reasons.contains { $0.detail.contains(text) }, "\(text) in \(decision.reasons)") }
        #expect(decision.reasons.allSatisfy { $0.detail.hasSuffix(".") })
    }

    @Test func `a rule for servers gives a proxy nothing, and a rule for proxies gives a server nothing`() throws {
        var configuration = ExtensionConfiguration(realm: "A.TEST", hosts: [try HostRule("www.a.test")])
        configuration.proxyHosts = [try HostRule("proxy.a.test")]
        configuration.plainHTTPHosts = [try HostRule(".a.test")]
        let policy = DecisionPolicy([configuration])
        let server = try #require(URL(string: "http://www.a.test:3128"))
        let proxy = try #require(URL(string: "http://proxy.a.test:3128"))
        #expect(policy.decision(for: server, challenger: .origin).plan?.challenger == .origin)
        #expect(policy.decision(for: server, challenger: .proxy).plan == nil)
        #expect(policy.decision(for: proxy, challenger: .proxy).plan?.challenger == .proxy)
        #expect(policy.decision(for: proxy, challenger: .origin).plan == nil)
    }

    @Test func `a proxy gets neither the user's own ticket nor a preemptive one`() throws {
        let rule = try HostRule("proxy.a.test")
        var configuration = ExtensionConfiguration(realm: "A.TEST", hosts: [rule])
        configuration.proxyHosts = [rule]
        (configuration.delegationHosts, configuration.unconditionalDelegationHosts) = ([rule], [rule])
        configuration.preemptiveHosts = [rule]
        let origin = try Origin(url: "https://proxy.a.test")
        let plan = try #require(DecisionPolicy([configuration]).decision(forProxy: origin).plan)
        #expect(plan.delegation == .none && !plan.isPreemptive && !plan.bindsChannel)
        #expect(plan != DecisionPolicy([configuration]).decision(for: origin).plan)
    }

    @Test func `without a profile no proxy gets a ticket`() throws {
        let decision = DecisionPolicy([]).decision(forProxy: try Origin(url: "http://proxy.a.test:3128"))
        #expect(decision.plan == nil && decision.reasons.contains { $0.detail.contains("ksso setup FILE") })
    }

    @Test(
        arguments: [
            ("proxy.example.com:3128", "proxy.example.com:3128", nil), ("PROXY:8080", "proxy:8080", nil),
            ("[2001:DB8::1]:3128", "[2001:db8::1]:3128", nil), ("192.0.2.1:80", "192.0.2.1:80", nil),
            ("proxy.example.com", nil, "no port"), ("proxy:", nil, "no port"), ("proxy:0", nil, "no port"), ("proxy:65536", nil, "no port"),
            ("http://proxy:3128", nil, "more than a proxy's address"), ("user@proxy:3128", nil, "more than a proxy's address"),
            ("proxy:3128/", nil, "more than a proxy's address"), ("pro xy:3128", nil, "not allowed"), ("", nil, "is empty"),
            ("[::1:3128", nil, "brackets"), ("*.example.com:3128", nil, "not allowed"),
        ] as [(String, String?, String?)]
    )
    func `an entry of ProxyServers is a host with a port`(_ text: String, _ address: String?, _ fault: String?) {
        do throws(HostRuleError) {
            #expect(try ProxyAddress(text).description == address)
        } catch {
            #expect(fault.map(error.reason.contains) == true, "\(error)")
        }
    }
}
