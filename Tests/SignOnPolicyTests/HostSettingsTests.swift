import Foundation
import SignOnPolicy
import TestSupport
import Testing

/// How a host is answered, according to the lists and service principals of the configuration that covers it.
struct HostSettingsTests {
    struct Vectors: Decodable {
        struct Configuration: Decodable {
            struct Lists: Decodable {
                let preemptiveHosts: [String]
                let delegationHosts: [String]
                let unconditionalDelegationHosts: [String]
                let optionalMutualAuthenticationHosts: [String]
                let noMutualAuthenticationHosts: [String]
                let noChannelBindingHosts: [String]
            }

            let realm: String
            let source: String
            let hosts: [String]
            let plainHTTPHosts: [String]
            let mapping: [String: [String]]
            let lists: Lists
            let servicePrincipals: [String: String]

            func make() throws -> ExtensionConfiguration {
                func rules(_ texts: [String]) throws -> [HostRule] { try texts.map { try HostRule($0) } }
                var configuration = ExtensionConfiguration(
                    realm: realm,
                    hosts: try rules(hosts),
                    plainHTTPHosts: try rules(plainHTTPHosts),
                    domainRealmMapping: mapping,
                    source: source
                )
                configuration.preemptiveHosts = try rules(lists.preemptiveHosts)
                configuration.delegationHosts = try rules(lists.delegationHosts)
                configuration.unconditionalDelegationHosts = try rules(lists.unconditionalDelegationHosts)
                configuration.optionalMutualAuthenticationHosts = try rules(lists.optionalMutualAuthenticationHosts)
                configuration.noMutualAuthenticationHosts = try rules(lists.noMutualAuthenticationHosts)
                configuration.noChannelBindingHosts = try rules(lists.noChannelBindingHosts)
                configuration.servicePrincipals = Dictionary(
                    uniqueKeysWithValues: try servicePrincipals.map { (try Origin(url: $0.key), $0.value) }
                )
                return configuration
            }
        }

        /// A missing value is that of a host in no list.
        struct Decision: Decodable, CustomTestStringConvertible {
            let why: String
            let url: String
            let isIgnored: Bool?
            let realm: String?
            let servicePrincipal: String?
            let serviceRealm: String?
            let mutualAuthentication: String?
            let delegation: String?
            let isPreemptive: Bool?
            let bindsChannel: Bool?
            let mentions: [String]?
            var testDescription: String { "\(why): \(url)" }
        }

        let configurations: [Configuration]
        let decisions: [Decision]

        static func load() throws -> Vectors { try FixtureFile.load("host-settings", in: .module) }
    }

    private static let rules = ["servicePrincipal", "channelBinding", "mutualAuthentication", "delegation", "preemptive"]

    private func decision(for url: String) throws -> AuthorizationDecision {
        DecisionPolicy(try Vectors.load().configurations.map { try $0.make() }).decision(for: try #require(URL(string: url)))
    }

    @Test(arguments: try Vectors.load().decisions)
    func `a plan has the settings of the host's configuration`(_ vector: Vectors.Decision) throws {
        let decision = try decision(for: vector.url)
        guard vector.isIgnored != true else {
            #expect(decision.plan == nil)
            return
        }
        let plan = try #require(decision.plan)
        let host = try Origin(url: vector.url).host
        #expect(plan.realm == vector.realm ?? "EXAMPLE.TEST")
        #expect(plan.servicePrincipal == vector.servicePrincipal ?? "HTTP/\(host)")
        #expect(plan.serviceRealm == vector.serviceRealm)
        #expect(plan.mutualAuthentication.rawValue == vector.mutualAuthentication ?? "required")
        #expect(plan.delegation.rawValue == vector.delegation ?? "none")
        #expect(plan.isPreemptive == vector.isPreemptive ?? false)
        #expect(plan.bindsChannel == vector.bindsChannel ?? true)
        for text in vector.mentions ?? [] { #expect(plan.reasons.contains { $0.detail.contains(text) }, "\(text) in \(plan.reasons)") }
    }

    /// Two places read the lists: one for the reasons, one for the plan.
    @Test(arguments: try Vectors.load().decisions.filter { $0.isIgnored != true })
    func `the reasons agree with the plan`(_ vector: Vectors.Decision) throws {
        let plan = try #require(decision(for: vector.url).plan)
        let reasons = plan.reasons.filter { HostSettingsTests.rules.contains($0.rule) }
        #expect(reasons.map(\.rule) == HostSettingsTests.rules)
        let expected = [
            plan.configuration.servicePrincipals[plan.origin] != nil, plan.bindsChannel, plan.mutualAuthentication == .required,
            plan.delegation != .none, plan.isPreemptive,
        ]
        #expect(reasons.map(\.verdict) == expected.map { $0 ? .passed : .notApplicable }, "\(reasons)")
        #expect(reasons.allSatisfy { $0.detail.hasSuffix(".") && !$0.detail.contains("\n") })
    }

    /// A setting changes how a host is answered, never whether.
    @Test func `a host setting never decides whether a host is answered`() throws {
        for url in ["http://files.example.com/", "https://elsewhere.example.net/", "https://10.0.0.1/"] {
            let reasons = try decision(for: url).reasons
            #expect(reasons.contains { $0.verdict == .failed })
            #expect(!reasons.contains { HostSettingsTests.rules.contains($0.rule) && $0.verdict == .failed })
        }
    }

    @Test func `the settings of the first configuration apply`() throws {
        let configurations = try Vectors.load().configurations.map { try $0.make() }
        let hosts = [try HostRule("www.example.net")]
        var lists = ["A.TEST", "B.TEST"].map { ExtensionConfiguration(realm: $0, hosts: hosts) }
        (lists[0].delegationHosts, lists[0].noChannelBindingHosts) = (hosts, hosts)
        (lists[1].preemptiveHosts, lists[1].unconditionalDelegationHosts) = (hosts, hosts)
        let origin = try Origin(url: "https://www.example.net")
        let first = try #require(DecisionPolicy(configurations + lists).decision(for: origin).plan)
        #expect(first.delegation == .byPolicy && !first.bindsChannel && !first.isPreemptive)
        let second = try #require(DecisionPolicy(configurations + lists.reversed()).decision(for: origin).plan)
        #expect(second.delegation == .always && second.bindsChannel && second.isPreemptive)
    }
}
