import Foundation
import Testing

@testable import ExtensionProfile

/// Files that are refused as profiles, and the faults that the error and the report name.
@Suite struct BadProfileTests {
    @Test(arguments: [
        ("empty.yaml", ProfileError.Code.empty, "The file is empty."),
        ("blank.mobileconfig", .empty, "The file is empty."),
        ("comments.yaml", .empty, "only comments"),
        ("prose.mobileconfig", .malformed, "not a property list"),
        ("page.mobileconfig", .malformed, "not a property list"),
        ("truncated.mobileconfig", .malformed, "not a property list"),
        ("truncated-binary.mobileconfig", .malformed, "damaged"),
        ("bomb.mobileconfig", .malformed, "contain one another"),
        ("cycle.mobileconfig", .malformed, "contain one another"),
        ("deep.mobileconfig", .malformed, "nested deeper"),
        ("bomb.yaml", .malformed, "aliases"),
        ("deep.yaml", .malformed, "not YAML"),
        ("unclosed.yaml", .malformed, "line "),
        ("key-twice.yaml", .malformed, "Realm occurs twice"),
        ("unquoted-star.yaml", .malformed, "must be quoted"),
        ("top-level-list.yaml", .malformed, "Found an array, expected a dictionary"),
        ("encrypted.mobileconfig", .encrypted, "encrypted for one device"),
    ])
    func `a file that is not a profile is refused and has no report`(_ name: String, _ code: ProfileError.Code, _ text: String) throws {
        let error = try Fixture.refusal(name)
        #expect(error.code == code)
        #expect(error.reason.contains(text), "\(error)")
        #expect(error.message.hasPrefix("\(name): "))
        #expect(error.message.hasSuffix("."))
        #expect(throws: error) { try Fixture.report(name) }
    }

    @Test func `a signature is recognized by its first bytes, unlike YAML that begins with 0`() throws {
        let error = try #require(throws: ProfileError.self) { try Profile(data: Data([0x30, 0x82, 0x01, 0x00]), source: "a.mobileconfig") }
        #expect(error.code == .badSignature)
        let text = try #require(throws: ProfileError.self) { try Profile(data: Data("0: 1".utf8), source: "a.yaml") }
        #expect(text.code == .missingKey)
    }

    @Test func `a file larger than 1 MiB is refused before parsing`() throws {
        let comment = Data(repeating: UInt8(ascii: "#"), count: (1 << 20) + 1)
        let error = try #require(throws: ProfileError.self) { try Profile(data: comment, source: "huge.yaml") }
        #expect(error.code == .tooLarge)
        #expect(error.reason.contains("1 MiB"))
        let largest = Data("# ".utf8) + Data(repeating: UInt8(ascii: "x"), count: (1 << 20) - 2)
        let allowed = try #require(throws: ProfileError.self) { try Profile(data: largest, source: "large.yaml") }
        #expect(allowed.code == .empty)
    }

    @Test(arguments: ["ar\u{1B}[2Jray", "arr\u{202E}ay", String(repeating: "x", count: 100_000)])
    func `a message quotes a property list in one short line without control characters`(_ tag: String) throws {
        let text = "<plist version=\"1.0\"><\(tag)></\(tag)></plist>"
        let error = try #require(throws: ProfileError.self) { try Profile(data: Data(text.utf8), source: "a.plist") }
        #expect(error.reason.contains("unknown tag") && error.message.utf8.count < 500)
        #expect(!error.message.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
    }

    @Test(arguments: ["integer", "real", "date", "data", "string", "key"])
    func `a property list whose bytes are not UTF-8 is refused`(tag: String) throws {
        let (start, end) = ("<plist version=\"1.0\"><dict><key>Realm</key><\(tag)>", "1</\(tag)></dict></plist>")
        let data = Data(start.utf8) + [0xF8, 0x80, 0x80, 0x80] + Data(end.utf8)
        let error = try #require(throws: ProfileError.self) { try Profile(data: data, source: "a.plist") }
        #expect(error.code == .malformed && error.reason.contains("not text in UTF-8"), "\(error)")
    }

    @Test func `bytes that are not UTF-8 are refused`() throws {
        let error = try #require(throws: ProfileError.self) { try Profile(data: Data([0x52, 0xFF, 0xFE]), source: "a.yaml") }
        #expect(error.code == .malformed)
        #expect(error.reason.contains("UTF-8"))
    }

    @Test(arguments: [
        ("Realm", "Realm", "an integer (5)", "a string"),
        ("Hosts", "Hosts", "a string (\"www.example.test\")", "an array of strings"),
        ("HostsElement", "Hosts[1]", "an integer (7)", "a string"),
        ("Type", "Type", "a boolean (true)", "a string"),
        ("ExtensionIdentifier", "ExtensionIdentifier", "an array", "a string"),
        ("TeamIdentifier", "TeamIdentifier", "a real number (1.5)", "a string"),
        ("PayloadType", "PayloadType", "an integer (1)", "a string"),
        ("PlainHTTPHosts", "PlainHTTPHosts", "a dictionary", "an array of strings"),
        ("ProxyServers", "ProxyServers", "a string (\"proxy.example.test:3128\")", "an array of strings"),
        ("AllowedPeers", "AllowedPeers", "an array", "a dictionary of arrays of strings"),
        ("ServicePrincipals", "ServicePrincipals", "an array", "a dictionary of strings"),
        ("ServicePrincipalsElement", "ServicePrincipals.\"https://www.example.test\"", "an array", "a string"),
        ("ExtensionData", "ExtensionData", "a string (\"alice\")", "a dictionary"),
        ("principalName", "ExtensionData.principalName", "nothing", "a string"),
        ("isDefaultRealm", "ExtensionData.isDefaultRealm", "an integer (1)", "a boolean (true or false)"),
        ("isDefaultRealmText", "ExtensionData.isDefaultRealm", "a string (\"true\")", "a boolean (true or false)"),
        ("domainRealmMapping", "ExtensionData.domainRealmMapping", "an array", "a dictionary of arrays of strings"),
        (
            "domainRealmMappingInverted", "ExtensionData.domainRealmMapping.\".example.test\"", "a string (\"EXAMPLE.TEST\")",
            "an array of strings"
        ),
        ("preferredKDCs", "ExtensionData.preferredKDCs", "a string (\"kdc.example.test\")", "an array of strings"),
        ("PayloadContentElement", "PayloadContent[0]", "a string", "a dictionary with a payload's keys"),
    ])
    func `a wrong type in a key that is used refuses the file`(_ name: String, _ path: String, _ found: String, _ expected: String)
        throws
    {
        let file = "WrongType/\(name).yaml"
        let error = try Fixture.refusal(file)
        #expect(error.code == .wrongType)
        #expect(error.keyPath?.description == path)
        #expect(error.message.hasPrefix("\(file): \(path): Found \(found), expected \(expected)."), "\(error)")
        let report = try Fixture.report(file)
        #expect(report.hasErrors)
        #expect(report.errors.contains { $0.verdict == .wrongType(expected: expected, found: found) && $0.path.description == path })
    }

    @Test func `PayloadContent must be a list`() throws {
        let error = try Fixture.refusal("WrongType/PayloadContent.yaml")
        #expect(error.message == "WrongType/PayloadContent.yaml: PayloadContent: Found a dictionary, expected an array of payloads.")
    }

    @Test(arguments: [
        ("RealmEmpty", "Realm", "\"\""), ("RealmInjection", "Realm", "\\n[libdefaults]"), ("HostsGlob", "Hosts[0]", "wildcard"),
        ("HostsPort", "Hosts[0]", "port"), ("HostsURL", "Hosts[0]", "more than a host"), ("HostsAddress", "Hosts[0]", "address"),
        ("HostsNotASCII", "Hosts[0]", "ASCII"), ("HostsEmpty", "Hosts[1]", "empty"), ("Type", "Type", "expected Credential"),
        ("ExtensionIdentifier", "ExtensionIdentifier", "KerberosExtention"), ("TeamIdentifier", "TeamIdentifier", "expected apple"),
        ("PayloadType", "PayloadType", "expected com.apple.extensiblesso"), ("PlainHTTPHosts", "PlainHTTPHosts[0]", "port"),
        ("ProxyHosts", "ProxyHosts[0]", "port"),
        ("ProxyServers", "ProxyServers[1]", "no port from 1 to 65535"),
        ("ProxyServersURL", "ProxyServers[0]", "more than a proxy's address"),
        ("ProxyAutoConfigURL", "ProxyAutoConfigURL", "file:///etc/proxy.pac"),
        ("ProxyAutoConfigURLHost", "ProxyAutoConfigURL", "https://www.example.com/proxy.pac"),
        ("NoProxy", "NoProxy[1]", "one entry of no_proxy"),
        ("NoProxyGlob", "NoProxy[0]", "has a wildcard; write .example.test"),
        ("NoProxyURL", "NoProxy[0]", "has a scheme"),
        ("NoProxyRange", "NoProxy[0]", "has no prefix length from 0 to 32"),
        ("ServicePrincipals", "ServicePrincipals.\"https://www.example.test\"", "requires one slash"),
        ("ServicePrincipalsOrigin", "ServicePrincipals.\"www.example.test\"", "not an origin"),
        ("ServicePrincipalsTwice", "ServicePrincipals.\"https://www.example.test\"", "same origin as HTTPS://www.example.test:443/"),
        ("principalName", "ExtensionData.principalName", "alice smith"),
        ("principalNameWindows", "ExtensionData.principalName", "a Windows logon name; expected a principal such as alice,"),
        ("preferredKDCsPort", "ExtensionData.preferredKDCs[0]", "1 to 65535"),
        ("preferredKDCsInjection", "ExtensionData.preferredKDCs[0]", "kdc.example.test"),
        ("AllowedPeers", "AllowedPeers.www-data", "a user or a group by number"),
        ("AllowedPeersHost", "AllowedPeers.uid:33[1]", "wildcard"),
        ("credentialBundleIdACL", "ExtensionData.credentialBundleIdACL[1]", "unit:backup.service"),
        ("domainRealmMappingRealm", "ExtensionData.domainRealmMapping.\"EXAMPLE TEST\"", "EXAMPLE TEST"),
        ("domainRealmMappingSuffix", "ExtensionData.domainRealmMapping.\"EXAMPLE.TEST\"[0]", "wildcard"),
        ("domainRealmMappingTwice", "ExtensionData.domainRealmMapping.\"TWO.TEST\"[0]", "is also mapped to ONE.TEST"),
    ])
    func `an impossible value in a key that is used refuses the file`(_ name: String, _ path: String, _ text: String) throws {
        let error = try Fixture.refusal("BadValue/\(name).yaml")
        #expect(error.code == .badValue)
        #expect(error.keyPath?.description == path)
        #expect(error.reason.contains(text), "\(error)")
        #expect(!error.message.contains("\n"))
        #expect(try Fixture.report("BadValue/\(name).yaml").hasErrors)
    }

    @Test func `every missing required key is reported`() throws {
        let report = try Fixture.report("missing-keys.yaml")
        #expect(report.errors.map(\.key) == ["Realm", "Hosts", "ExtensionIdentifier", "Type"])
        let error = try Fixture.refusal("missing-keys.yaml")
        #expect(error.code == .missingKey)
        #expect(error.message.contains("Realm: Required, but missing; expected a string. The file has 3 more errors"))
    }

    @Test func `a misspelled required key is reported with the correct name`() throws {
        let text = profileText(realm: "A.TEST", hosts: "a.test").replacing("Hosts:", with: "Host:").replacing("Type: Credential", with: "")
        let error = try #require(throws: ProfileError.self) { try Profile(data: Data(text.utf8), source: "a.yaml") }
        #expect(error.code == .missingKey)
        #expect(error.message.hasPrefix("a.yaml: Host: Not a key; Hosts is probably meant. The file has 2 more errors;"), "\(error)")
    }

    @Test func `a profile without a Kerberos extension payload is refused with its payload types`() throws {
        let error = try Fixture.refusal("only-wifi.mobileconfig")
        #expect(error.code == .noKerberosPayload)
        #expect(error.reason.contains("com.apple.wifi.managed"))
        #expect(try Fixture.report("only-wifi.mobileconfig").hasErrors)
    }

    @Test(arguments: [
        ("host-twice.yaml", "Hosts[2]", "Hosts[0]"), ("host-twice-in-two.yaml", "PayloadContent[1].Hosts[0]", "PayloadContent[0].Hosts[0]"),
    ])
    func `a repeated host refuses the file`(_ name: String, _ second: String, _ first: String) throws {
        let error = try Fixture.refusal(name)
        #expect(error.code == .repeatedHost)
        #expect(error.keyPath?.description == second)
        #expect(error.reason.contains("www.example.test is here and at \(first)"))
        #expect(try Fixture.report(name).hasErrors)
    }

    @Test func `the error reports the first fault and counts the others`() throws {
        let error = try Fixture.refusal("several-faults.yaml")
        #expect(error.reason.hasSuffix("The file has 3 more errors; list all with: ksso profile check \(error.source)"))
        // A fault in an unused key does not refuse the file, but the report counts it.
        #expect(try Fixture.report("several-faults.yaml").faultCount == 4)
    }
}
