import Foundation
import KerberosSSO
import KerberosTesting
import KerberosTestingTraits
import TestSupport
import Testing

/// `SingleSignOn` in another environment than the process's own, such as that of a test realm.
@Suite(.testRealm(users: ["alice": "secret", "bob": "secret"], services: ["HTTP/localhost"], scope: .test))
struct EnvironmentTests {
    private func makeSSO(_ realm: TestRealm, environment: [String: String]? = nil) async throws -> SingleSignOn {
        let profile = try Profile(realm: realm.name, hosts: ["localhost"])
        return try await SingleSignOn(.inProcess(profile), environment: environment ?? realm.environment)
    }

    @Test func `a realm's environment is all that a sign-in needs`() async throws {
        let realm = try #require(TestRealm.current)
        let sso = try await makeSSO(realm)
        try await sso.signIn("alice", prompt: .secret)
        #expect(try await sso.principal(for: "localhost") == "alice@EXAMPLE.TEST")
        // Programs of the realm use the same cache.
        #expect(try await realm.klist().principal.description == "alice@EXAMPLE.TEST")
        #expect(try await realm.kvno("HTTP/localhost") == 1)
    }

    @Test func `the tickets of several principals stay in the realm's folder`() async throws {
        let realm = try #require(TestRealm.current)
        let sso = try await makeSSO(realm)
        for name in ["alice", "bob"] { try await sso.signIn(name, prompt: .secret) }
        let sessions = try await sso.sessions().sessions
        #expect(Set(sessions.map(\.principal.description)) == ["alice@EXAMPLE.TEST", "bob@EXAMPLE.TEST"])
        for session in sessions { #expect(session.cache.path?.hasPrefix("\(realm.directory)/") == true, "\(session.cache)") }
    }

    @Test func `another cache separates tests that share a realm`() async throws {
        let realm = try #require(TestRealm.current)
        try await makeSSO(realm).signIn("alice", prompt: .secret)
        var environment = realm.environment
        environment["KRB5CCNAME"] = "FILE:\(realm.directory)/other"
        environment["KSSO_RUNTIME_DIR"] = "\(realm.directory)/other-runtime"
        let other = try await makeSSO(realm, environment: environment)
        #expect(try await other.sessions().sessions.isEmpty)
    }

    @Test func `the environment names the client keytab`() async throws {
        let realm = try #require(TestRealm.current)
        var environment = realm.environment
        environment["KRB5_CLIENT_KTNAME"] = "FILE:\(try await realm.keytab(for: "HTTP/localhost"))"
        let profile = try Profile(realm: realm.name, hosts: ["localhost"])
        let sso = try await SingleSignOn(.inProcess(profile, credential: .clientKeytab), environment: environment)
        #expect(try await sso.principal(for: "localhost") == "HTTP/localhost@EXAMPLE.TEST")
    }

    /// The sign-in without a person, and one that names the client keytab.
    @Test(arguments: [false, true]) func `the environment names the client keytab of the user's sessions`(isNamed: Bool) async throws {
        let realm = try #require(TestRealm.current)
        var environment = realm.environment
        environment["KRB5_CLIENT_KTNAME"] = "FILE:\(try await realm.keytab(for: "HTTP/localhost"))"
        environment["KRB5CCNAME"] = "FILE:\(realm.directory)/keytab-\(isNamed)"
        environment["KSSO_RUNTIME_DIR"] = "\(realm.directory)/keytab-runtime-\(isNamed)"
        let profile = try Profile(realm: realm.name, hosts: ["localhost"])
        let sso = try await SingleSignOn(.inProcess(profile), environment: environment)
        if isNamed { try await sso.signIn(using: .clientKeytab) }
        #expect(try await sso.principal(for: "localhost") == "HTTP/localhost@EXAMPLE.TEST")
    }

    @Test func `the environment names the files and the cache`() {
        let settings = SingleSignOn.Settings(environment: ["KRB5_CONFIG": "/a:/b", "KRB5CCNAME": "DIR:/c", "USER": "carol"])
        #expect(settings.base == .files(["/a", "/b"]))
        #expect(settings.defaultCacheName == "DIR:/c")
        #expect(settings.environment["USER"] == "carol")
    }

    @Test(arguments: [[:], ["KRB5_CONFIG": "", "KRB5CCNAME": "", "KRB5_CLIENT_KTNAME": ""]])
    func `an environment that names nothing means the machine's files`(environment: [String: String]) {
        let settings = SingleSignOn.Settings(environment: environment)
        #expect(settings.base == .system)
        #expect(settings.defaultCacheName == nil)
        #expect(settings.clientKeytabName == nil)
    }
}
