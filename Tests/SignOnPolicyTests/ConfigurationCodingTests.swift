import Foundation
import SignOnPolicy
import TestSupport
import Testing

/// The JSON encoding of an extension configuration.
@Suite struct ConfigurationCodingTests {
    private static func decode(_ text: String) throws -> ExtensionConfiguration {
        try JSONDecoder().decode(ExtensionConfiguration.self, from: Data(text.utf8))
    }

    @Test func `every field of a configuration survives a round trip`() throws {
        let sample = try ExtensionConfiguration.withEveryField()
        #expect(sample.fields(withDefault: true) == [])
        let data = try JSONEncoder().encode(sample)
        #expect(try JSONDecoder().decode(ExtensionConfiguration.self, from: data) == sample)
    }

    /// Each field of the sample differs from its default, and wins over it.
    @Test func `the combined sign-in rules of two profiles have every field`() throws {
        let rules = try ExtensionConfiguration.withEveryField().signIn
        #expect(SignInRules(combining: [SignInRules(), rules]) == rules)
        #expect(SignInRules(combining: [rules, SignInRules()]) == rules)
        #expect(SignInRules(combining: []) == SignInRules())
    }

    @Test func `the defaults of a configuration survive a round trip`() throws {
        let empty = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        #expect(try JSONDecoder().decode(ExtensionConfiguration.self, from: try JSONEncoder().encode(empty)) == empty)
    }

    @Test func `entries are encoded as they are written in a profile`() throws {
        var configuration = ExtensionConfiguration(realm: "EXAMPLE.TEST")
        configuration.hosts = [try HostRule("www.example.test"), try HostRule(".intra.example.test")]
        configuration.servicePrincipals = [try Origin(url: "https://www.example.test:8443"): "HTTP/other.example.test"]
        configuration.preferredKDCs = [try PreferredKDC("tcp/kdc.example.test:8088"), try PreferredKDC("kkdcp://proxy.example.test/path")]
        configuration.proxyServers = [try ProxyAddress("proxy.example.test:3128"), try ProxyAddress("[2001:db8::1]:8080")]
        configuration.allowedPeers = [AllowedPeer(.user(33), hosts: configuration.hosts), AllowedPeer(.group(50), hosts: [])]
        configuration.credentialCallers = [.executable("/usr/bin/curl"), .folder("/opt/app/"), .unit("backup.service")]
        configuration.sessionLimits = SessionLimits(
            maximumLifetime: .seconds(28_800),
            signOutAt: .init("18:05"),
            idleSignOutAfter: .milliseconds(90_500)
        )
        let data = try JSONEncoder().encode(configuration)
        #expect(try JSONDecoder().decode(ExtensionConfiguration.self, from: data) == configuration)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object["hosts"] as? [String] == ["www.example.test", ".intra.example.test"])
        #expect(object["servicePrincipals"] as? [String: String] == ["https://www.example.test:8443": "HTTP/other.example.test"])
        #expect(object["preferredKDCs"] as? [String] == ["tcp/kdc.example.test:8088", "kkdcp://proxy.example.test/path"])
        #expect(object["proxyServers"] as? [String] == ["proxy.example.test:3128", "[2001:db8::1]:8080"])
        #expect((object["allowedPeers"] as? [[String: Any]])?.map { $0["peer"] as? String } == ["uid:33", "gid:50"])
        #expect(object["credentialCallers"] as? [String] == ["/usr/bin/curl", "/opt/app/", "unit:backup.service"])
        let limits = try #require(object["sessionLimits"] as? [String: Any])
        #expect(limits["maximumLifetime"] as? Double == 28_800 && limits["signOutAt"] as? String == "18:05")
        #expect(limits["idleSignOutAfter"] as? Double == 90.5)
    }

    @Test func `a missing key gets its default, and an unknown key is ignored`() throws {
        let text = """
            {"realm": "A.TEST", "invented": [1], "passwords": {"history": 3, "invented": {}}, "signIn": {"helpText": "Help."},
             "sessionLimits": {"signOutOnLock": true}}
            """
        var expected = ExtensionConfiguration(realm: "A.TEST")
        (expected.passwords.history, expected.signIn.helpText, expected.sessionLimits.signOutOnLock) = (3, "Help.", true)
        #expect(try Self.decode(text) == expected)
        #expect(throws: DecodingError.self) { try Self.decode("{}") }
    }

    @Test(arguments: [
        (#""hosts": ["www.a.test", "*.b.test"]"#, "*.b.test"), (#""noChannelBindingHosts": ["192.0.2.1"]"#, "192.0.2.1"),
        (#""servicePrincipals": {"ftp://a.test": "HTTP/a.test"}"#, "ftp://a.test"),
        (#""preferredKDCs": ["http/kdc.a.test"]"#, "http/kdc.a.test"),
        (#""allowedPeers": [{"peer": "uid:-1", "hosts": []}]"#, "uid:-1"),
        (#""allowedPeers": [{"peer": "uid:1", "hosts": ["a:80"]}]"#, "a:80"),
        (#""proxyServers": ["proxy.a.test"]"#, "proxy.a.test"),
        (#""credentialCallers": ["com.apple.Safari"]"#, "com.apple.Safari"),
        (#""deniedCallers": ["curl"]"#, "curl"), (#""credentialUseMode": "sometimes""#, "sometimes"),
        (#""screenLockedBehavior": "Ignore""#, "Ignore"), (#""sessionLimits": {"signOutAt": "24:00"}"#, "24:00"),
        (#""sessionLimits": {"maximumLifetime": 1e300}"#, "1e+300"),
    ])
    func `the decoding error contains the invalid value`(field: String, value: String) throws {
        let error = try #require(throws: DecodingError.self) { try Self.decode(#"{"realm": "A.TEST", \#(field)}"#) }
        #expect("\(error)".contains(value), "\(error)")
    }
}
