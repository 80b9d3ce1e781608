import Foundation
import SignOnPolicy
import TestSupport
import Testing

@testable import ExtensionProfile

/// The keys that Apple does not have: lists of hosts, and service principals.
@Suite struct OwnKeyTests {
    struct Vectors: Decodable {
        struct Origin: Decodable, CustomTestStringConvertible {
            let text: String
            let origin: String?
            let fault: String?
            var testDescription: String { text.debugDescription }
        }

        struct Principal: Decodable, CustomTestStringConvertible {
            let text: String
            let fault: String?
            var testDescription: String { text.debugDescription }
        }

        let origins: [Origin]
        let principals: [Principal]

        static func load() throws -> Vectors { try JSONDecoder().decode(Vectors.self, from: Fixture.data("service-principals.json")) }
    }

    /// A profile with one additional key. Because JSON is also YAML, any text can be a key or a value.
    private static func profile(_ key: String, _ json: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let value = String(decoding: try encoder.encode(json), as: UTF8.self)
        return Data("\(profileText(realm: "EXAMPLE.TEST", hosts: "www.example.test"))\n\(key): \(value)".utf8)
    }

    @Test(arguments: ["host-settings.yaml", "host-settings.mobileconfig", "host-settings-binary.mobileconfig"])
    func `the keys that Apple does not have mean the same in every format`(_ name: String) throws {
        let profile = try Fixture.profile(name)
        func rules(_ texts: String...) throws -> [HostRule] { try texts.map { try HostRule($0) } }
        var expected = ExtensionConfiguration(
            realm: "EXAMPLE.TEST",
            hosts: try rules("example.test", ".example.test"),
            plainHTTPHosts: try rules("lab.example.test"),
            source: name
        )
        expected.preemptiveHosts = try rules("api.example.test", ".fast.example.test")
        expected.delegationHosts = try rules("files.example.test")
        expected.unconditionalDelegationHosts = try rules("old.example.test")
        expected.optionalMutualAuthenticationHosts = try rules(".appliance.example.test")
        expected.noMutualAuthenticationHosts = try rules("printer.example.test")
        expected.noChannelBindingHosts = try rules(".balanced.example.test")
        expected.servicePrincipals = [
            try Origin(url: "https://alias.example.test"): "HTTP/real.example.test",
            try Origin(url: "https://alias.example.test:8443"): "HTTP/other.example.test:8443@PARTNER.TEST",
            try Origin(url: "http://lab.example.test"): "HTTP/Node1@EXAMPLE.TEST",
        ]
        #expect(profile.configurations == [expected])
        #expect(!profile.report.hasErrors && !profile.report.hasWarnings, "\(profile.report)")
    }

    @Test func `a payload without host lists has empty ones`() throws {
        let configuration = try #require(Fixture.profile("corporate.yaml").configurations.first)
        #expect(configuration.servicePrincipals.isEmpty)
        #expect(HostList.all.allSatisfy { $0.rules(in: [:]).isEmpty })
        #expect(configuration.delegationHosts.isEmpty && configuration.unconditionalDelegationHosts.isEmpty)
        #expect(configuration.noMutualAuthenticationHosts.isEmpty && configuration.noChannelBindingHosts.isEmpty)
        #expect(configuration.preemptiveHosts.isEmpty)
    }

    /// The name of the property is that of the key, with a small first letter.
    @Test func `every list of hosts in a configuration has one declaration`() throws {
        let properties = Mirror(reflecting: ExtensionConfiguration(realm: "")).children.filter { type(of: $0.value) == [HostRule].self }
        #expect(properties.map(\.label) == ["hosts"] + HostList.all.map { $0.name.prefix(1).lowercased() + $0.name.dropFirst() })
        for list in HostList.all {
            var configuration = ExtensionConfiguration(realm: "")
            configuration[keyPath: list.property] = [try HostRule("www.example.test")]
            #expect(configuration.fields(withDefault: false) == [list.name.prefix(1).lowercased() + list.name.dropFirst()])
        }
    }

    @Test(arguments: HostList.all)
    func `every list of hosts follows the rules of Hosts`(_ list: HostList) throws {
        let key = list.name
        #expect(ProfileKey.named(key, in: .payload)?.isUsed == true)
        for (entry, part) in [("*.example.test", "wildcard"), ("www.example.test:80", "port"), ("10.0.0.1", "address"), ("", "empty")] {
            let data = try OwnKeyTests.profile(key, ["www.example.test", entry])
            let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml") }
            #expect(error.code == .badValue)
            #expect(error.keyPath?.description == "\(key)[1]")
            #expect(error.reason.contains(part), "\(error)")
        }
        let data = try OwnKeyTests.profile(key, "www.example.test")
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml") }
        #expect(error.code == .wrongType)
        #expect(error.reason.contains("expected an array of strings"))
    }

    @Test(arguments: try Vectors.load().origins)
    func `a key of ServicePrincipals must be an origin`(_ vector: Vectors.Origin) throws {
        let report = try Profile.check(
            data: OwnKeyTests.profile("ServicePrincipals", [vector.text: "HTTP/real.example.test"]),
            source: "a.yaml"
        )
        guard let fault = vector.fault else {
            #expect(report.errors.isEmpty, "\(report.errors)")
            #expect(try ServicePrincipalEntry.origin(vector.text).description == vector.origin)
            return
        }
        let row = try #require(report.errors.first)
        #expect(report.errors.count == 1 && row.rejectsFile)
        #expect(row.path.components.last == .key(vector.text))
        guard case .badValue(let reason) = row.verdict else { throw Fixture.Unexpected(row: row) }
        #expect(reason.contains(fault) && reason.hasSuffix("."), "\(reason)")
    }

    @Test(arguments: try Vectors.load().principals)
    func `a value of ServicePrincipals must have a service and a host`(_ vector: Vectors.Principal) throws {
        let data = try OwnKeyTests.profile("ServicePrincipals", ["https://www.example.test": vector.text])
        guard let fault = vector.fault else {
            let configuration = try #require(Profile(data: data, source: "a.yaml").configurations.first)
            #expect(configuration.servicePrincipals == [try Origin(url: "https://www.example.test"): vector.text])
            return
        }
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.yaml") }
        #expect(error.code == .badValue)
        #expect(error.keyPath?.description == "ServicePrincipals.\"https://www.example.test\"")
        #expect(error.reason.contains(fault) && !error.reason.contains("\n"), "\(error)")
        #expect(error.reason.hasSuffix("Write HTTP/www.example.com or HTTP/www.example.com@EXAMPLE.COM."), "\(error)")
    }

    @Test func `a wrong origin and a wrong principal of one entry are both reported`() throws {
        let report = try Profile.check(data: OwnKeyTests.profile("ServicePrincipals", ["www.example.test": "HTTP"]), source: "a.yaml")
        #expect(report.errors.map(\.key) == ["ServicePrincipals", "ServicePrincipals"])
    }

    @Test(
        arguments: [
            ("PlainHTTPHosts[0]", nil, ""),
            ("PlainHTTPHosts[1]", .advice, "only in part, such as by www.example.test"),
            ("PlainHTTPHosts[2]", .warning, "so it is not answered over http either. List it there too."),
            ("PreemptiveHosts[0]", nil, ""),
            (
                "PreemptiveHosts[1]", .warning,
                "evilcorp.test is covered by no entry of Hosts, so it is not answered, and this entry has no effect"
            ),
            ("PreemptiveHosts[2]", .warning, ".www.example.test is covered by no entry"),
            (
                "DelegationHosts[0]", .warning,
                "is also in UnconditionalDelegationHosts, which has precedence: the server gets the user's own ticket"
            ),
            (
                "DelegationHosts[1]", .warning,
                "b.a.corp.test is covered by .a.corp.test of UnconditionalDelegationHosts, which has precedence"
            ),
            (
                "DelegationHosts[2]", .advice,
                ".corp.test does not apply to .a.corp.test: UnconditionalDelegationHosts contains it and has precedence"
            ),
            ("DelegationHosts[3]", nil, ""),
            ("UnconditionalDelegationHosts[0]", nil, ""),
            ("UnconditionalDelegationHosts[2]", .warning, "example.test is covered by no entry"),
            (
                "NoMutualAuthenticationHosts[0]", .warning,
                "is also in OptionalMutualAuthenticationHosts, which has precedence: mutual authentication is optional"
            ),
            ("NoMutualAuthenticationHosts[1]", .warning, ".a.corp.test of OptionalMutualAuthenticationHosts, which has precedence"),
            (
                "NoMutualAuthenticationHosts[2]", .advice,
                "so mutual authentication is optional for the server, but a proof that it sends must be valid."
            ),
            ("NoMutualAuthenticationHosts[3]", nil, ""),
            ("OptionalMutualAuthenticationHosts[0]", nil, ""),
            ("NoChannelBindingHosts[0]", nil, ""),
            ("NoChannelBindingHosts[1]", .warning, "lb.test is covered by no entry"),
            ("NoMutualAuthenticationHosts[5]", nil, ""),
            ("ProxyHosts[0]", nil, ""),
            ("ProxyHosts[1]", .warning, ".com covers the domains of every organization under it"),
            ("ProxyServers[0]", nil, ""),
            ("ProxyServers[1]", .advice, "other.test is covered by no entry of ProxyHosts, so it gets no ticket"),
            ("ProxyServers[2]", .advice, "a.corp.test is covered by no entry of ProxyHosts"),
            ("ServicePrincipals.\"http://proxy.test:3128\"", nil, ""),
            ("ServicePrincipals.\"https://proxy.test\"", .warning, "proxy.test is covered by no entry of Hosts"),
            ("ServicePrincipals.\"https://a.corp.test\"", nil, ""),
            ("ServicePrincipals.\"https://alias.test\"", .warning, "alias.test is covered by no entry of Hosts"),
            ("ServicePrincipals.\"http://www.example.test\"", nil, ""),
            ("ServicePrincipals.\"http://a.corp.test\"", .warning, "not answered over plain http, so this entry has no effect"),
            ("ServicePrincipals.\"https://b.corp.test\"", .warning, "HTTP, in upper case; a ticket for http/real.corp.test"),
            ("ServicePrincipals.\"https://c.corp.test\"", .warning, "HTTP, in upper case; a ticket for cifs/real.corp.test"),
        ] as [(String, ProfileAdvice.Severity?, String)]
    )
    func `an entry with no effect, or less than it seems to have, gets a remark`(
        _ path: String,
        _ severity: ProfileAdvice.Severity?,
        _ part: String
    )
        throws
    {
        let report = try Fixture.report("host-settings-advice.yaml")
        #expect(!report.hasErrors)
        let remarks = report.advice.filter { $0.path.description == path }
        #expect(remarks.map(\.severity) == (severity.map { [$0] } ?? []), "\(remarks)")
        #expect(remarks.allSatisfy { $0.sentence.contains(part) && $0.sentence.hasSuffix(".") }, "\(remarks)")
    }

    @Test func `a host with two faults gets both remarks`() throws {
        let remarks = try Fixture.report("host-settings-advice.yaml").advice.filter {
            $0.path.description == "NoMutualAuthenticationHosts[4]"
        }
        #expect(remarks.map(\.severity) == [.warning, .warning])
    }
}
