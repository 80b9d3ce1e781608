import Foundation
import HTTPNegotiate
import Testing

@testable import ExtensionProfile

/// The configurations that are read from the payloads of a profile.
@Suite struct ProfileTests {
    @Test(arguments: ["corporate.mobileconfig", "corporate-binary.mobileconfig", "corporate.yaml"])
    func `a payload means the same in every format`(_ name: String) throws {
        let profile = try Fixture.profile(name)
        var expected = ExtensionConfiguration(
            realm: "EXAMPLE.TEST",
            hosts: try ["example.test", ".example.test", "intranet.partner.test"].map { try HostRule($0) },
            principalName: "alice",
            isDefaultRealm: true,
            domainRealmMapping: ["PARTNER.TEST": [".partner.test"]],
            passwords: .init(notificationDays: 10),
            source: name
        )
        expected.preferredKDCs = try ["kdc1.example.test", "tcp/kdc2.example.test:88", "kkdcp://proxy.example.test:443/kkdcp"].map {
            try PreferredKDC($0)
        }
        expected.signIn = .init(allowsAutomaticLogin: false)
        #expect(profile.configurations == [expected])
        #expect(profile.source == name)
        #expect(!profile.report.hasErrors)
        let payload = try #require(profile.payloads.first)
        #expect(payload.payloadUUID == "0E5A4B4B-7C64-4E0B-9C9D-3A2D6C3F6A02")
        #expect(payload.payloadVersion == 1)
        #expect(payload.extensionData.pwNotificationDays == 10)
        #expect(payload.extensionData.allowAutomaticLogin == false)
        #expect(payload.extensionData.allowPasswordChange == nil)
    }

    @Test func `a profile is read from a file`() throws {
        let path = try Fixture.path("corporate.mobileconfig")
        #expect(try Profile(contentsOf: path).configurations.first?.source == path)
        #expect(try Profile.check(contentsOf: path).kerberosPayloadCount == 1)
    }

    @Test(arguments: ["corporate.mobileconfig", "corporate-binary.mobileconfig"])
    func `ignored payloads are reported with the reason and without their values`(_ name: String) throws {
        let profile = try Fixture.profile(name)
        #expect(profile.report.ignoredPayloads.map(\.payloadIndex) == [0, 2])
        #expect(profile.report.ignoredPayloads.map(\.type) == ["com.apple.wifi.managed", "com.apple.extensiblesso"])
        #expect(profile.report.ignoredPayloads.first?.reason.contains("com.apple.wifi.managed") == true)
        #expect(profile.report.ignoredPayloads.last?.reason.contains("Redirect") == true)
        #expect(profile.payloads.map(\.index) == [1])
        #expect(!String(reflecting: profile.report).contains("do-not-print-me"))
    }

    @Test(arguments: ["list.yaml", "documents.yaml"])
    func `a YAML file can contain several payloads`(_ name: String) throws {
        #expect(try Fixture.profile(name).configurations.map(\.realm) == ["ONE.TEST", "TWO.TEST"])
    }

    @Test func `PlainHTTPHosts enables plain HTTP for its hosts`() throws {
        let configurations = try Fixture.profile("list.yaml").configurations
        #expect(configurations.map(\.plainHTTPHosts) == [[try HostRule("one.test")], []])
    }

    @Test func `the path of a value includes its document or list position`() throws {
        #expect(try Fixture.profile("list.yaml").payloads.map(\.path.description) == ["PayloadContent[0]", "PayloadContent[1]"])
        #expect(try Fixture.profile("documents.yaml").payloads.map(\.path.description) == ["document 1: ", "document 2: "])
        #expect(try Fixture.report("documents.yaml").rows.contains { $0.path.description == "document 2: Realm" })
    }

    @Test func `a fault in an unused key leaves the profile usable`() throws {
        let profile = try Fixture.profile("harmless-fault.yaml")
        #expect(profile.configurations.map(\.realm) == ["EXAMPLE.TEST"])
        #expect(profile.report.hasErrors)
        #expect(profile.report.rejection == nil)
        #expect(
            profile.report.errors.map(\.path.description).sorted() == [
                "ExtensionData.replicationTime", "ExtensionData.requireUserPresence", "ExtensionData.siteCode",
                "ExtensionData.usePlatformSSOTGT",
            ]
        )
    }

    @Test func `all 38 keys of ExtensionData have typed accessors`() throws {
        let data = try #require(Fixture.profile("every-key.mobileconfig").payloads.first).extensionData
        #expect(data.values.count == 38)
        #expect(Set(data.values.keys) == Set(ProfileKey.extensionData.map(\.name)))
        #expect(data.typedKeys == Set(data.values.keys))
        #expect(data.credentialUseMode == .whenNotSpecified)
        #expect(data.pwReqRTFData == Data("{\\rtf1}".utf8))
        #expect(data.replicationTime == 60)
        #expect(data.startInSmartCardMode == true)
    }

    @Test func `missing keys get the documented defaults`() {
        let data = ExtensionData(["pwNotificationDays": .integer(3)]).withDefaults
        #expect(data.pwNotificationDays == 3)
        #expect(data.replicationTime == 900)
        #expect(data.credentialUseMode == .always)
        #expect(data.monitorCredentialsCache == true)
        #expect(data.usePlatformSSOTGT == false)
        #expect(data.principalName == nil)
        #expect(ExtensionData.documentedDefaults.values.count == 21)
    }
}

extension ExtensionData {
    /// The keys whose typed accessor returns a value. An accessor that read another key would be missing.
    fileprivate var typedKeys: Set<String> {
        let readings: [(String, Any?)] = [
            ("cacheName", cacheName), ("principalName", principalName), ("siteCode", siteCode), ("certificateUUID", certificateUUID),
            ("useSiteAutoDiscovery", useSiteAutoDiscovery), ("credentialBundleIdACL", credentialBundleIdACL),
            ("includeManagedAppsInBundleIdACL", includeManagedAppsInBundleIdACL),
            ("includeKerberosAppsInBundleIdACL", includeKerberosAppsInBundleIdACL), ("domainRealmMapping", domainRealmMapping),
            ("isDefaultRealm", isDefaultRealm), ("customUsernameLabel", customUsernameLabel), ("helpText", helpText),
            ("allowPasswordChange", allowPasswordChange), ("allowAutomaticLogin", allowAutomaticLogin),
            ("requireUserPresence", requireUserPresence), ("pwExpireOverride", pwExpireOverride),
            ("pwNotificationDays", pwNotificationDays), ("pwReqLength", pwReqLength), ("pwReqComplexity", pwReqComplexity),
            ("pwReqMinAge", pwReqMinAge), ("pwReqHistory", pwReqHistory), ("pwReqText", pwReqText), ("pwReqRTFData", pwReqRTFData),
            ("pwChangeURL", pwChangeURL), ("syncLocalPassword", syncLocalPassword), ("replicationTime", replicationTime),
            ("delayUserSetup", delayUserSetup), ("monitorCredentialsCache", monitorCredentialsCache),
            ("requireTLSForLDAP", requireTLSForLDAP), ("credentialUseMode", credentialUseMode), ("preferredKDCs", preferredKDCs),
            ("usePlatformSSOTGT", usePlatformSSOTGT), ("allowPlatformSSOAuthFallback", allowPlatformSSOAuthFallback),
            ("performKerberosOnly", performKerberosOnly), ("identityIssuerAutoSelectFilter", identityIssuerAutoSelectFilter),
            ("allowSmartCard", allowSmartCard), ("allowPassword", allowPassword), ("startInSmartCardMode", startInSmartCardMode),
        ]
        return Set(readings.filter { $0.1 != nil }.map(\.0))
    }
}
