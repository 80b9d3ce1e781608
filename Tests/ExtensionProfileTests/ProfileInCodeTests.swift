import ExtensionProfile
import HTTPNegotiate
import SignOnPolicy
import Testing

/// Profiles without a file.
@Suite struct ProfileInCodeTests {
    @Test func `a profile in code has the configuration of a file with the same keys`() throws {
        let profile = try Profile(
            realm: "EXAMPLE.TEST",
            hosts: [".example.test", "localhost"],
            plainHTTPHosts: ["localhost"],
            principalName: "alice"
        )
        let localhost = try HostRule("localhost")
        let expected = ExtensionConfiguration(
            realm: "EXAMPLE.TEST",
            hosts: [try HostRule(".example.test"), localhost],
            plainHTTPHosts: [localhost],
            principalName: "alice",
            source: profile.source
        )
        #expect(profile.configurations == [expected])
        #expect(!profile.report.hasErrors)
    }

    @Test func `a profile in code needs only a realm and hosts`() throws {
        let profile = try Profile(realm: "EXAMPLE.TEST", hosts: ["localhost"])
        let configuration = try #require(profile.configurations.first)
        #expect(configuration.plainHTTPHosts.isEmpty && configuration.principalName == nil)
    }

    @Test(arguments: ["*.example.test", "a b", "<&\u{1}", ""])
    func `a profile in code with an invalid host is refused like a file`(host: String) {
        let error = #expect(throws: ProfileError.self) { try Profile(realm: "EXAMPLE.TEST", hosts: [host]) }
        #expect(error?.message.hasPrefix("the program's own profile: ") == true)
    }
}
