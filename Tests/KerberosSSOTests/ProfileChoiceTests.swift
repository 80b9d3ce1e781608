import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// Which profiles are active.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/www.example.test"]))
struct ProfileChoiceTests {
    private func makeHome() throws -> ProfileHome { try ProfileHome(try #require(TestRealm.current)) }

    private func writeProfile(_ home: ProfileHome, _ name: String, host: String) throws -> String {
        try home.write(
            name,
            "PayloadType: com.apple.extensiblesso",
            "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension",
            "TeamIdentifier: apple",
            "Type: Credential",
            "Realm: EXAMPLE.TEST",
            "Hosts: [\(host)]"
        )
    }

    @Test func `the profiles in KSSO_PROFILE are used, and no others`() async throws {
        var home = try makeHome()
        let first = try writeProfile(home, "first.yaml", host: "www.example.test")
        let second = try writeProfile(home, "second.yaml", host: "other.example.test")
        _ = try writeProfile(home, "unnamed.yaml", host: "third.example.test")
        home.settings.environment["KSSO_PROFILE"] = "\(first):\(second)"
        let sso = try await SingleSignOn(.automatic, settings: home.settings)
        #expect(sso.profiles.map(\.source) == [first, second])
        try await sso.signIn("alice", prompt: .secret)
        #expect(try await sso.principal(for: "www.example.test") == "alice@EXAMPLE.TEST")
        let third = try #require(URL(string: "https://third.example.test/"))
        #expect(sso.decision(for: third).plan == nil)
    }

    @Test func `the caller's profiles override KSSO_PROFILE`() async throws {
        var home = try makeHome()
        let first = try writeProfile(home, "first.yaml", host: "www.example.test")
        home.settings.environment["KSSO_PROFILE"] = try writeProfile(home, "second.yaml", host: "other.example.test")
        let sso = try await SingleSignOn(.automatic(profiles: [first]), settings: home.settings)
        #expect(sso.profiles.map(\.source) == [first])
    }

    @Test func `the user's profile directory is used, with a warning for a broken profile`() async throws {
        let home = try makeHome()
        let good = try writeProfile(home, "good.yaml", host: "www.example.test")
        let broken = try home.write("broken.yaml", "Realm: [")
        let sso = try await SingleSignOn(.automatic, settings: home.settings)
        #expect(sso.profiles.contains { $0.source == good })
        #expect(sso.warnings.contains { $0.source == broken && $0.code == .rejected })
    }

    @Test(arguments: ["/nonexistent/profile.yaml", "/dev/null", "/"])
    func `an unusable profile in KSSO_PROFILE is an error`(path: String) async throws {
        var home = try makeHome()
        home.settings.environment["KSSO_PROFILE"] = path
        await #expect(throws: ProfileError.self) { try await SingleSignOn(.automatic, settings: home.settings) }
    }

    @Test func `without a profile a sign-in uses the default realm of krb5.conf`() async throws {
        var home = try makeHome()
        home.settings.environment["HOME"] = "\(home.directory)/nowhere"
        let sso = try await SingleSignOn(.inProcess([]), settings: home.settings)
        #expect(try await sso.signIn("alice", prompt: .secret).principal.description == "alice@EXAMPLE.TEST")
        let url = try #require(URL(string: "https://www.example.test/"))
        #expect(sso.decision(for: url).plan == nil)
    }
}
