import Foundation
import HTTPTypes
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `SingleSignOn` without an agent: profiles, sessions, service credentials and the trace.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/www.example.test", "app"]))
struct SingleSignOnTests {
    private let host = "www.example.test"

    private func makeHome() throws -> ProfileHome { try ProfileHome(try #require(TestRealm.current)) }

    @Test func `a Mac's profile signs in its principal and answers its hosts`() async throws {
        let home = try makeHome()
        let sso = try await SingleSignOn(.inProcess(try intranetProfile()), settings: home.settings)
        #expect(sso.warnings.isEmpty && sso.profiles.count == 1)
        let url = try #require(URL(string: "https://www.example.test/"))
        #expect(sso.decision(for: url).plan?.servicePrincipal == "HTTP/www.example.test@EXAMPLE.TEST")
        // No principal is given: the profile's principal signs in, not $USER.
        let session = try await sso.signIn(prompt: .secret)
        #expect(session.principal.description == "alice@EXAMPLE.TEST")
        guard case .headers(let grant) = try await sso.beginAuthorization(with: .init(url: url)) else {
            Issue.record("the host is not handled")
            return
        }
        #expect(grant.principal == "alice@EXAMPLE.TEST")
        #expect(try await sso.identity(for: .init(url: url)) == grant.identity)
        #expect(await sso.readyGrant(for: .init(url: url))?.identity == grant.identity)
        let value = try #require(grant.headers.first?.value.dropFirst("Negotiate ".count))
        let token = try #require(Data(base64Encoded: String(value)))
        let acceptance = try Acceptance(Array(token), keytab: home.realm.keytabPath)
        #expect(try await grant.exchange.respond(to: acceptance.reply) == .established)
    }

    /// Without krb5.conf the profile sets the KDC.
    @Test func `a profile with its KDC suffices without krb5.conf`() async throws {
        var home = try makeHome()
        home.settings.base = .none
        let path = try home.write(
            "own.yaml",
            "PayloadType: com.apple.extensiblesso",
            "ExtensionIdentifier: com.apple.AppSSOKerberos.KerberosExtension",
            "TeamIdentifier: apple",
            "Type: Credential",
            "Realm: EXAMPLE.TEST",
            "Hosts: [.example.test]",
            "ExtensionData:",
            "  preferredKDCs: ['127.0.0.1:\(home.realm.kdcPort)']"
        )
        let sso = try await SingleSignOn(.automatic(profiles: [path]), settings: home.settings)
        let session = try await sso.signIn(prompt: .secret)
        #expect(session.principal.description == "bob@EXAMPLE.TEST")  // $USER, because the profile has no principal
        #expect(try await sso.principal(for: host) == "bob@EXAMPLE.TEST")
    }

    @Test func `sessions can be switched, refreshed, explained and ended`() async throws {
        let home = try makeHome()
        let sso = try await SingleSignOn(.inProcess(try intranetProfile()), settings: home.settings)
        try await sso.signIn("alice", prompt: .secret, options: .init(lifetime: .seconds(600), renewableLifetime: .seconds(3600)))
        let bob = try await sso.signIn("bob@EXAMPLE.TEST", using: .password(Secret("secret")))
        #expect(bob.cache.path?.hasPrefix("\(home.directory)/run/caches/") == true)
        let alice = try await sso.makeDefault("alice")
        #expect(alice.isDefault)
        #expect(try await sso.refresh(alice).isSignedIn)
        let url = try #require(URL(string: "https://www.example.test/"))
        #expect(await sso.explanation(for: url).principal == "alice@EXAMPLE.TEST")
        #expect(try await sso.signOut("bob", realm: "EXAMPLE.TEST").ended.map(\.principal) == [bob.principal])
        #expect(try await sso.signOut(bob.principal).ended.isEmpty)
        #expect(try await sso.sessions().sessions.map(\.principal.description) == ["alice@EXAMPLE.TEST"])
        #expect(try await sso.signOutAll().ended.count == 1)
    }

    @Test func `a service with a keytab leaves the user's cache alone`() async throws {
        let home = try makeHome()
        let credential = SingleSignOn.ServiceCredential.keytab(home.realm.keytabPath, principal: "app@EXAMPLE.TEST")
        let service = try await SingleSignOn(.inProcess(try intranetProfile(), credential: credential), settings: home.settings)
        #expect(try await service.principal(for: host) == "app@EXAMPLE.TEST")
        #expect(!FileManager.default.fileExists(atPath: "\(home.directory)/cache"))
    }

    @Test func `a service principal without a realm gets the profile's realm`() async throws {
        var home = try makeHome()
        home.settings.base = .files([home.realm.configurationPath])
        let credential = SingleSignOn.ServiceCredential.keytab(home.realm.keytabPath, principal: "app")
        let service = try await SingleSignOn(.inProcess(try intranetProfile(), credential: credential), settings: home.settings)
        #expect(try await service.principal(for: host) == "app@EXAMPLE.TEST")
    }

    @Test func `a sign-in with a keytab uses the keytab's principal`() async throws {
        let home = try makeHome()
        let keytab = try await home.realm.keytab(for: "app")
        let sso = try await SingleSignOn(.inProcess(try intranetProfile()), settings: home.settings)
        #expect(try await sso.signIn(using: .keytab(keytab)).principal.description == "app@EXAMPLE.TEST")
    }

    @Test func `a request that allows prompts uses the prompter of the settings`() async throws {
        var home = try makeHome()
        home.settings.prompter = RecordingPrompter.secret
        let sso = try await SingleSignOn(.inProcess(try intranetProfile()), settings: home.settings)
        await #expect(throws: AuthorizationError.self) { try await sso.principal(for: host) }
        #expect(try await sso.principal(for: host, mayAsk: true) == "alice@EXAMPLE.TEST")
    }

    @Test func `the trace reaches the caller and contains no password`() async throws {
        var home = try makeHome()
        let lines = Recorded<String>()
        home.settings.trace = { lines.append($0) }
        let sso = try await SingleSignOn(.inProcess(try intranetProfile()), settings: home.settings)
        try await sso.signIn(prompt: .secret)
        #expect(lines.all.contains { $0.contains("alice@EXAMPLE.TEST") })
        #expect(!lines.all.contains { $0.contains("secret") })
    }
}
