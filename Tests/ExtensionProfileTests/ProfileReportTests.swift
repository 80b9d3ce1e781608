import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// The report on a profile: a row for every key, and advice on values that are probably wrong.
@Suite struct ProfileReportTests {
    @Test func `Hosts with a top-level domain or a registry's suffix get a warning`() throws {
        let yaml = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            TeamIdentifier: apple
            Type: Credential
            Realm: EXAMPLE.TEST
            Hosts: [.com, .co.uk, .example.com, example.com]
            """
        let report = try Profile.check(data: Data(yaml.utf8), source: "a.yaml")
        #expect(!report.hasErrors)
        #expect(report.advice.map(\.severity) == [.warning, .warning], "\(report.advice)")
        #expect(report.advice.map(\.path.description) == ["Hosts[0]", "Hosts[1]"])
        #expect(report.advice.first?.sentence.hasPrefix(".com covers the domains of every organization under it") == true)
    }

    @Test func `every key of a full profile has a row and none is unknown`() throws {
        let report = try Fixture.report("every-key.mobileconfig")
        #expect(!report.hasErrors && !report.rows.contains { $0.verdict == .unknown })
        // Its list names only a Mac's program.
        #expect(report.advice.filter { $0.severity == .warning }.map { $0.path.description.hasSuffix("credentialBundleIdACL") } == [true])
        let data = report.rows.filter { $0.path.description.hasPrefix("PayloadContent[0].ExtensionData.") }
        // The number of Apple's keys, all of which the fixture has.
        #expect(Set(data.map(\.key)).count == 38 && data.count == 38)
        #expect(Set(data.map(\.key)).isSubset(of: ProfileKey.extensionData.map(\.name)))
        #expect(report.rows.filter { $0.payloadIndex == nil }.map(\.key).contains("PayloadUUID"))
        #expect(report.rows.allSatisfy { $0.value != nil })
    }

    @Test func `a full profile has every known key, and each is used or not applicable`() throws {
        let report = try Fixture.report("full.yaml")
        #expect(!report.hasErrors && !report.hasWarnings, "\(report.errors) \(report.advice)")
        for (place, prefix) in [
            (ProfileKey.Place.envelope, ""), (.payload, "PayloadContent[0]."), (.extensionData, "PayloadContent[0].ExtensionData."),
        ] {
            let known = ProfileKey.all.filter { $0.place == place }.map { prefix + $0.name }
            #expect(Set(known).isSubset(of: report.rows.map(\.path.description)), "\(place)")
        }
        for row in report.rows {
            switch row.verdict {
            case .used, .notApplicable: break
            default: #expect(Bool(false), "\(row)")
            }
        }
        let configuration = try #require(try Fixture.profile("full.yaml").configurations.first)
        #expect(configuration.signIn.userNameLabel == "Staff number" && configuration.signIn.helpText == "Call 1234")
        #expect(
            configuration.preferredKDCs.map(\.mitSyntax) == ["kdc1.example.test", "kdc2.example.test:88", "https://proxy.example.test/kdc"]
        )
    }

    @Test(arguments: [
        "Realm", "Hosts", "Type", "ExtensionIdentifier", "TeamIdentifier", "PlainHTTPHosts", "PreemptiveHosts", "DelegationHosts",
        "UnconditionalDelegationHosts", "OptionalMutualAuthenticationHosts", "NoMutualAuthenticationHosts", "NoChannelBindingHosts",
        "ServicePrincipals", "AllowedPeers", "includeKerberosAppsInBundleIdACL", "principalName", "isDefaultRealm",
        "domainRealmMapping", "preferredKDCs",
    ])
    func `a key with an effect is reported as used`(_ key: String) throws {
        let row = try #require(Fixture.report("every-key.mobileconfig").rows.first { $0.key == key })
        #expect(row.verdict == .used)
    }

    @Test(arguments: [
        ("principalName", "ExtensionData.principalName"),
        ("ExtensionData.credentialBundleIDACL", "credentialBundleIdACL"),
        ("ExtensionData.domainRealmMaping", "domainRealmMapping"),
        ("ExtensionData.preferedKDC", "preferredKDCs"),
        ("ExtensionData.isDefautlRealm", "isDefaultRealm"),
        ("ExtensionData.PlainHTTPHosts", "PlainHTTPHosts next to ExtensionData"),
        ("PremptiveHosts", "PreemptiveHosts"),
        ("delegationHosts", "DelegationHosts"),
        ("UnconditionalDelegationHsots", "UnconditionalDelegationHosts"),
        ("OptionalMutualAuthenticationHost", "OptionalMutualAuthenticationHosts"),
        ("NoMutualAuthenticationsHosts", "NoMutualAuthenticationHosts"),
        ("NoChanelBindingHosts", "NoChannelBindingHosts"),
        ("ServicePrincipal", "ServicePrincipals"),
        ("ExtensionData.ServicePrincipals", "ServicePrincipals next to ExtensionData"),
    ])
    func `a misspelled key is reported with the probable key`(_ path: String, _ suggestion: String) throws {
        let report = try Fixture.report("misspelled.yaml")
        let row = try #require(report.rows.first { $0.path.description == path })
        #expect(row.verdict == .misspelled(suggestion: suggestion))
        #expect(report.hasErrors)
    }

    @Test func `an unknown key is only a warning`() throws {
        let report = try Fixture.report("misspelled.yaml")
        #expect(report.rows.first { $0.key == "favouriteColour" }?.verdict == .unknown)
        #expect(report.hasWarnings)
        // A Mac ignores unknown keys, so the profile works here as it does there.
        #expect(report.rejection == nil)
    }

    @Test(
        arguments: [
            ("Urls", "URLs"), ("realm", "Realm"), ("Host", "Hosts"), ("xyzType", nil), ("Tope", "Type"), ("Raelm", "Realm"), ("abc", nil),
            ("", nil), ("plainHttpHost", "PlainHTTPHosts"), ("preferredkdc", "ExtensionData.preferredKDCs"),
        ] as [(String, String?)]
    )
    func `only a close key is suggested for a misspelled one`(_ name: String, _ expected: String?) {
        #expect(Spelling.suggestion(for: name, in: .payload) == expected)
    }

    @Test(arguments: [
        ("alice@corp.test", "alice@CORP.TEST"), ("alice@CORP.TEST", "alice@CORP.TEST"), ("alice@other.test", "alice@other.test"),
        (#"alice\@corp.test"#, #"alice\@corp.test"#), ("alice", "alice"),
    ])
    func `a principal's realm that differs only in case is the profile's realm`(name: String, meant: String) throws {
        let text = """
            ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension
            TeamIdentifier: apple
            Type: Credential
            Realm: CORP.TEST
            Hosts: [www.corp.test]
            ExtensionData:
              principalName: '\(name)'
            """
        let profile = try Profile(data: Data(text.utf8), source: "a.yaml")
        #expect(profile.configurations.map(\.principalName) == [meant])
        let report = try ProfileReport.check(data: Data(text.utf8), source: "a.yaml")
        #expect(report.advice.contains { $0.path.description == "ExtensionData.principalName" } == (name == "alice@other.test"))
    }

    @Test func `a value that is probably not intended gets advice`() throws {
        let report = try Fixture.report("advice.yaml")
        #expect(!report.hasErrors)
        #expect(report.hasWarnings)
        func advice(_ path: String) -> ProfileAdvice? { report.advice.first { $0.path.description == path } }
        #expect(advice("Realm")?.severity == .warning)
        #expect(advice("Realm")?.sentence.contains("EXAMPLE.TEST") == true)
        #expect(advice("Hosts[0]")?.severity == .advice)
        #expect(advice("Hosts[0]")?.sentence.contains("example.test itself") == true)
        #expect(advice("Hosts[2]") == nil, "partner.test is listed next to .partner.test")
        #expect(advice("PlainHTTPHosts[0]") == nil && advice("PlainHTTPHosts[1]") == nil)
        #expect(advice("PlainHTTPHosts[2]")?.severity == .warning)
        #expect(advice("ExtensionData.principalName")?.sentence.contains("OTHER.TEST") == true)
        #expect(advice("ExtensionData.cacheName")?.sentence.contains("deprecated") == true)
        #expect(advice("ExtensionData.replicationTime")?.sentence.contains("deprecated") == true)
        #expect(advice("TeamIdentifier")?.severity == .advice)
    }

    @Test func `a clean profile gets no advice beyond its deprecated keys and its lists of programs`() throws {
        let expected = ["cacheName", "pwExpireOverride", "replicationTime", "credentialBundleIdACL", "DeniedBundleIdentifiers"]
        for remark in try Fixture.report("every-key.mobileconfig").advice {
            #expect(expected.contains(remark.path.description.split(separator: ".").last.map(String.init) ?? ""), "\(remark)")
        }
    }

    @Test(
        arguments: [
            ("ExtensionData: {principalName: '{{username}}'}", "ExtensionData.principalName", "{{username}}"),
            ("ExtensionData: {principalName: 'x-%Username%'}", "ExtensionData.principalName", "%Username%"),
            ("CertificateIdentity: 'FILE:/home/$USERNAME/user.pem'", "CertificateIdentity", "$USERNAME"),
            ("ServicePrincipals: {example.test: HTTP/$SERVICE}", "ServicePrincipals.\"example.test\"", "$SERVICE"),
            ("ExtensionData: {helpText: '10% of $a costs {b}', pwReqText: '100%'}", nil, ""),
            ("ArmorCache: 'FILE:/tmp/krb5cc_%{uid}'", nil, ""), ("PayloadDisplayName: 'For {{username}}'", nil, ""),
        ] as [(String, String?, String)]
    )
    func `a variable of device management gets a warning`(line: String, path: String?, variable: String) throws {
        let payload = "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension\nType: Credential\nRealm: EXAMPLE.TEST\n"
        let report = try ProfileReport.check(data: Data("\(payload)Hosts: [example.test]\n\(line)".utf8), source: "a.yaml")
        let warnings = report.advice.filter { $0.sentence.contains("device management") }
        #expect(warnings.map(\.path.description) == (path.map { [$0] } ?? []), "\(report.advice)")
        #expect(warnings.allSatisfy { $0.severity == .warning && $0.sentence.hasPrefix("\(variable) looks like") }, "\(warnings)")
    }

    @Test(
        arguments: [
            ("ExtensionData: {allowSmartCard: false}", .advice, "because allowSmartCard is false"),
            ("CertificateIdentity: 'FILE:/a.pem'", .warning, "because CertificateIdentity is no smart card"),
            ("", .advice, "It requires a smart card"), ("CertificateIdentity: 'PKCS11:'", nil, ""),
        ] as [(String, ProfileAdvice.Severity?, String)]
    )
    func `SignInOnCardInsertion without a card gets a remark`(line: String, severity: ProfileAdvice.Severity?, words: String) throws {
        let payload = "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension\nType: Credential\nRealm: EXAMPLE.TEST\n"
        let text = "\(payload)Hosts: [example.test]\nSignInOnCardInsertion: true\n\(line)"
        let report = try ProfileReport.check(data: Data(text.utf8), source: "a.yaml")
        let remarks = report.advice.filter { $0.path.description == "SignInOnCardInsertion" }
        #expect(remarks.map(\.severity) == (severity.map { [$0] } ?? []), "\(report.advice)")
        #expect(remarks.allSatisfy { $0.sentence.contains(words) }, "\(remarks)")
    }

    @Test func `control characters in a key do not reach the terminal`() throws {
        let report = try Profile.check(data: Data("\"\\e[2Jx\": 1".utf8), source: "a.yaml")
        let row = try #require(report.rows.first { $0.verdict == .unknown })
        #expect(!row.description.unicodeScalars.contains("\u{1B}"))
    }
}
