import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Tickets that shall protect a sign-in (FAST, RFC 6113) and can't, and clocks that differ.
@Suite struct ArmorFaultTests {
    private static func options(clockOffset: Duration? = nil) -> TestRealmOptions {
        TestRealmOptions(users: ["alice": "secret"], clockOffset: clockOffset, demandsFAST: true)
    }

    private func signIn(_ realm: TestRealm, armor: CredentialCacheName) async throws -> Credential {
        var configuration = realm.configuration
        configuration.armorCache = armor
        return try await KerberosClient(configuration)
            .initialCredential(for: try Principal("alice@EXAMPLE.TEST"), using: .password(Secret("secret")))
    }

    /// As kinit -T has it: the cache of the protecting ticket knows the KDC's time.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600), .seconds(-360)])
    func `a clock that is off`(offset: Duration) async throws {
        try await withTestRealm(Self.options(clockOffset: offset)) { realm in
            let credential = try await signIn(realm, armor: try await realm.armorCache())
            #expect(credential.client.description == "alice@EXAMPLE.TEST")
        }
    }

    /// As when the machine's clock is set. No answer of the KDC's mends the clock of a sign-in that is protected.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)])
    func `a clock that is right again`(offset: Duration) async throws {
        try await withTestRealm(Self.options(clockOffset: offset)) { realm in
            let alice = try Principal("alice@EXAMPLE.TEST")
            let armor = "\(realm.directory)/machine"
            var configuration = realm.configuration
            configuration.armorCache = CredentialCacheName(rawValue: armor)
            let client = KerberosClient(configuration)
            try await renew(armor, realm)
            _ = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
            try await realm.stopKDC()
            try await realm.startKDC(clockOffset: .zero)
            try await renew(armor, realm)
            _ = try await client.initialCredential(for: alice, using: .password(Secret("secret")))
        }
    }

    /// The cache of the protecting ticket is older than the change.
    @Test func `a clock that is right again and an old ticket`() async throws {
        try await withTestRealm(Self.options(clockOffset: .seconds(-600))) { realm in
            let armor = try await realm.armorCache()
            try await realm.stopKDC()
            try await realm.startKDC(clockOffset: .zero)
            var configuration = realm.configuration
            configuration.armorCache = armor
            let credential = try await KerberosClient(configuration)
                .initialCredential(for: try Principal("alice@EXAMPLE.TEST"), using: .password(Secret("secret")))
            #expect(credential.client.description == "alice@EXAMPLE.TEST")
        }
    }

    private func renew(_ path: String, _ realm: TestRealm) async throws {
        let new = try #require(try await realm.armorCache().path)
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: new, toPath: path)
    }

    /// The KDC was made anew: the password is not to blame, and none was sent.
    @Test func `a ticket of a KDC that is no more`() async throws {
        try await withTestRealm(Self.options()) { former in
            let armor = try await former.armorCache()
            try await withTestRealm(Self.options()) { realm in
                let error = await #expect(throws: KerberosError.self) { try await signIn(realm, armor: armor) }
                #expect(error?.code == .armorUnusable, "\(String(describing: error))")
                let attempts = try await realm.failedAttempts(of: "alice")
                #expect(attempts == 0)
            }
        }
    }
}
