import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

/// Sign-ins protected by FAST (RFC 6113) with unusable armor, or while the KDC's clock differs.
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

    /// As with `kinit -T`, the cache of the armor ticket contains the KDC's clock offset.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600), .seconds(-360)])
    func `a FAST sign-in succeeds although the KDC's clock differs`(offset: Duration) async throws {
        try await withTestRealm(Self.options(clockOffset: offset)) { realm in
            let credential = try await signIn(realm, armor: try await realm.armorCache())
            #expect(credential.client.description == "alice@EXAMPLE.TEST")
        }
    }

    /// As when the machine's clock is set. The KDC's replies do not correct the clock offset of a FAST sign-in.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)])
    func `a FAST sign-in succeeds after the KDC's clock is corrected`(offset: Duration) async throws {
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

    /// The armor cache is older than the correction.
    @Test func `a FAST sign-in succeeds with armor from before the KDC's clock was corrected`() async throws {
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

    /// The exchange is repeated with another clock offset, in the same context of libkrb5.
    @Test(.enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
    func `a FAST sign-in with a certificate succeeds with armor from before the KDC's clock was corrected`() async throws {
        var options = Self.options(clockOffset: .seconds(-600))
        options.acceptsCertificates = true
        options.pluginDirectory = certificatePlugins
        try await withTestRealm(options) { realm in
            var configuration = realm.configuration
            configuration.armorCache = try await realm.armorCache()
            let own = try await realm.certificate(for: "alice")
            try await realm.stopKDC()
            try await realm.startKDC(clockOffset: .zero)
            let credential = try await KerberosClient(configuration)
                .initialCredential(for: try Principal("alice@EXAMPLE.TEST"), using: .certificate(own.identity, RefusingPrompter()))
            #expect(credential.client.description == "alice@EXAMPLE.TEST")
        }
    }

    private func renew(_ path: String, _ realm: TestRealm) async throws {
        let new = try #require(try await realm.armorCache().path)
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: new, toPath: path)
    }

    /// The realm was created again with other keys, so the armor is the cause and not the password.
    @Test func `armor from a former KDC is reported as unusable, and no password is sent`() async throws {
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
