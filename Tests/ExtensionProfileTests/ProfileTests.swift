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
        #expect(payload.keys["PayloadUUID"] == .string("0E5A4B4B-7C64-4E0B-9C9D-3A2D6C3F6A02"))
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
                "ExtensionData.cacheName", "ExtensionData.requireUserPresence", "ExtensionData.usePlatformSSOTGT",
            ]
        )
    }

    /// In the fixture, the values differ from the defaults.
    @Test(arguments: ProfileKey.all.filter { $0.setting != nil })
    func `every used key has an effect on the configuration`(_ key: ProfileKey) throws {
        let payload = try #require(Fixture.profile("full.yaml").payloads.first)
        var keys = payload.keys
        var data = try #require(keys["ExtensionData"]?.dictionary)
        if key.place == .payload {
            #expect(keys[key.name] != nil)
            // A payload requires a list of hosts.
            keys[key.name] = key.name == "Hosts" ? .array([]) : nil
        } else {
            #expect(data.removeValue(forKey: key.name) != nil)
            keys["ExtensionData"] = .dictionary(data)
        }
        let other = try #require(ExtensionPayload(index: payload.index, path: payload.path, keys: keys))
        #expect(other.configuration(source: "") != payload.configuration(source: ""))
    }

    /// Without `credentialUseMode`, a program's own choice of a principal is respected, which Apple's first documentation describes.
    @Test(arguments: ProfileKey.extensionData.filter { $0.setting != nil && $0.defaultValue != nil && $0.name != "credentialUseMode" })
    func `a documented default is that of the configuration`(_ key: ProfileKey) throws {
        let before = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        var after = before
        key.setting?.apply(try #require(key.defaultValue), &after)
        #expect(after == before)
    }
}
