import Foundation
import SignOnPolicy
import TestSupport
import Testing

/// Which configuration answers a host, and the reasons for that decision.
struct DecisionPolicyTests {
    struct Vectors: Decodable {
        struct Configuration: Decodable {
            let realm: String
            let source: String
            let hosts: [String]
            let plainHTTPHosts: [String]
            let mapping: [String: [String]]

            func make() throws -> ExtensionConfiguration {
                ExtensionConfiguration(
                    realm: realm,
                    hosts: try hosts.map { try HostRule($0) },
                    plainHTTPHosts: try plainHTTPHosts.map { try HostRule($0) },
                    domainRealmMapping: mapping,
                    source: source
                )
            }
        }

        struct Decision: Decodable, CustomTestStringConvertible {
            let url: String
            let servicePrincipal: String?
            let hostRule: String?
            let realm: String?
            let serviceRealm: String?
            let failed: [String]?
            let mentions: [String]
            var testDescription: String { url }
        }

        let configurations: [Configuration]
        let decisions: [Decision]
    }

    @Test(arguments: try FixtureFile.load("decisions", in: .module, as: Vectors.self).decisions)
    func `a decision has the expected plan and reasons`(_ vector: Vectors.Decision) throws {
        let configurations = try FixtureFile.load("decisions", in: .module, as: Vectors.self).configurations.map { try $0.make() }
        let decision = DecisionPolicy(configurations).decision(for: try #require(URL(string: vector.url)))
        #expect(decision.plan?.servicePrincipal == vector.servicePrincipal)
        #expect(decision.plan?.hostRule.description == vector.hostRule)
        #expect(decision.plan?.realm == vector.realm)
        #expect(decision.plan?.serviceRealm == vector.serviceRealm)
        #expect(decision.reasons.filter { $0.verdict == .failed }.map(\.rule).uniqued() == vector.failed ?? [])
        for text in vector.mentions { #expect(decision.reasons.contains { $0.detail.contains(text) }, "\(text) in \(decision.reasons)") }
        #expect(decision.reasons.allSatisfy { $0.detail.hasSuffix(".") })
    }

    @Test func `every configuration has a host rule reason`() throws {
        let configurations = try FixtureFile.load("decisions", in: .module, as: Vectors.self).configurations.map { try $0.make() }
        for url in ["https://www.example.com/", "https://evil.test/", "http://lab.test/"] {
            let reasons = DecisionPolicy(configurations).decision(for: try Origin(url: url)).reasons
            for configuration in configurations {
                #expect(reasons.contains { $0.rule == "hostRule" && $0.detail.contains(configuration.source) })
            }
        }
    }

    @Test func `the reasons are in the order of the rules`() throws {
        let configurations = try FixtureFile.load("decisions", in: .module, as: Vectors.self).configurations.map { try $0.make() }
        let order = [
            "scheme", "address", "hostRule", "serviceRealm", "servicePrincipal", "channelBinding", "mutualAuthentication", "delegation",
            "preemptive",
        ]
        // If a host is not answered, the rules about how to answer it are omitted.
        for (url, count) in [("https://www.example.com/", order.count), ("http://a.example.com/", 3)] {
            let reasons = DecisionPolicy(configurations).decision(for: try Origin(url: url)).reasons
            #expect(reasons.map(\.rule).uniqued() == Array(order.prefix(count)))
        }
    }

    @Test func `of two equal host rules the first configuration's applies`() throws {
        let hosts = [try HostRule(".example.com")]
        let configurations = ["B.TEST", "A.TEST", "C.TEST"].map { ExtensionConfiguration(realm: $0, hosts: hosts) }
        let decision = DecisionPolicy(configurations).decision(for: try Origin(url: "https://www.example.com"))
        #expect(decision.plan?.realm == "B.TEST")
        #expect(decision.reasons.filter { $0.detail.contains("comes after the same rule") }.count == 2)
    }

    @Test func `of two equal domain mappings the alphabetically first realm applies`() throws {
        let hosts = [try HostRule(".example.com")]
        let mapping = Dictionary(uniqueKeysWithValues: ["C.TEST", "A.TEST", "B.TEST"].map { ($0, [".example.com", "EXAMPLE.com."]) })
        let configuration = ExtensionConfiguration(realm: "USERS.TEST", hosts: hosts, domainRealmMapping: mapping)
        let plan = DecisionPolicy([configuration]).decision(for: try Origin(url: "https://www.example.com")).plan
        #expect(plan?.servicePrincipal == "HTTP/www.example.com@A.TEST")
    }

    @Test func `without a configuration no host is answered`() throws {
        let decision = DecisionPolicy([]).decision(for: try Origin(url: "https://www.example.com"))
        let detail = "No profile is active. Install one with: ksso setup FILE. If one is installed, run: ksso doctor"
        #expect(decision == .ignore([DecisionReason(rule: "hostRule", verdict: .failed, detail: detail)]))
    }

    @Test func `the default configuration is the only one or the first for a default realm`() {
        var first = ExtensionConfiguration(realm: "FIRST.TEST")
        let second = ExtensionConfiguration(realm: "SECOND.TEST", isDefaultRealm: true)
        #expect(DecisionPolicy([]).defaultConfiguration == nil)
        #expect(DecisionPolicy([first]).defaultConfiguration == first)
        #expect(DecisionPolicy([first, second]).defaultConfiguration == second)
        #expect(DecisionPolicy([first, first]).defaultConfiguration == nil)
        first.isDefaultRealm = true
        #expect(DecisionPolicy([first, second]).defaultConfiguration == first)
    }

    @Test func `a reason is encoded as the documented JSON`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let reason = DecisionReason(rule: "scheme", verdict: .notApplicable, detail: "A sentence.")
        let text = String(decoding: try encoder.encode(reason), as: UTF8.self)
        #expect(text == #"{"detail":"A sentence.","rule":"scheme","verdict":"notApplicable"}"#)
    }
}

extension [String] {
    fileprivate func uniqued() -> [String] { reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
}
