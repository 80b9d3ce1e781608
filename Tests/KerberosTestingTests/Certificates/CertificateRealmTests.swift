import Foundation
import Kerberos
import KerberosTesting
import TestSupport
import Testing

@Suite(.enabled(if: hasPlugin(.pkinit), "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct CertificateRealmTests {
    private func withRealm(_ body: (TestRealm) async throws -> Void) async throws {
        let users = ["alice": "secret", "bob": "x", "o'neil": "x", "a$b#c": "x"]
        let options = TestRealmOptions(users: users, acceptsCertificates: true, pluginDirectory: unpackedPlugins)
        try await withTestRealm(options) { try await body($0) }
    }

    @Test func `kinit signs in with a certificate`() async throws {
        try await withRealm { realm in
            let own = try await realm.certificate(for: "alice")
            let login = try await realm.run("kinit", ["-X", "X509_user_identity=\(own.identity)", "alice"])
            #expect(login.exitStatus == 0, "\(login.errors)")
            #expect(try await realm.run("klist", []).output.contains("Default principal: alice@EXAMPLE.TEST"))
            let other = try await realm.run("kinit", ["-X", "X509_user_identity=\(own.identity)", "bob"])
            #expect(other.exitStatus == 1, "alice's certificate is not bob's")
        }
    }

    /// These characters have a meaning in the configuration of openssl.
    @Test(arguments: ["o'neil", "a$b#c"]) func `a certificate has the user's name as it is`(name: String) async throws {
        try await withRealm { realm in
            let own = try await realm.certificate(for: name)
            let login = try await realm.run("kinit", ["-X", "X509_user_identity=\(own.identity)", name])
            #expect(login.exitStatus == 0, "\(login.errors)")
        }
    }

    @Test func `KerberosClient signs in with a certificate, also a second time`() async throws {
        try await withRealm { realm in
            let alice = try Principal("alice", defaultRealm: realm.name)
            let client = KerberosClient(realm.configuration)
            for _ in 1...2 {
                let own = try await realm.certificate(for: "alice")
                let credential = try await client.initialCredential(for: alice, using: .certificate(own.identity, RefusingPrompter()))
                #expect(credential.client == alice)
            }
        }
    }

    @Test func `a certificate with a PIN requires the right PIN`() async throws {
        try await withRealm { realm in
            let own = try await realm.certificate(for: "alice", pin: "12 34")
            #expect(own.identity.hasPrefix("PKCS12:"))
            for (pin, status) in [("12 34", 0), ("wrong", 1)] {
                // kinit prompts only on a terminal.
                let command = "kinit -X X509_user_identity=\(own.identity) alice"
                let login = try await realm.run("script", ["-qec", command, "/dev/null"], input: "\(pin)\n")
                #expect(login.exitStatus == status, "\(login)")
            }
        }
    }

    @Test func `the certificates of a realm have different keys, which the next realm uses again`() async throws {
        func keys(_ realm: TestRealm) async throws -> Set<String> {
            var keys: Set = [try String(contentsOfFile: String(realm.certificateAuthorityPath.dropLast(3)) + "key", encoding: .utf8)]
            for name in ["alice", "alice", "bob"] {
                keys.insert(try String(contentsOfFile: try await realm.certificate(for: name).keyPath, encoding: .utf8))
            }
            return keys
        }
        try await withRealm { realm in
            let first = try await keys(realm)
            #expect(first.count == 4)
            try await withRealm { next in
                let second = try await keys(next)
                #expect(second == first)
            }
            let users = ["alice": "secret", "bob": "x"]
            let options = TestRealmOptions(name: "OTHER.TEST", users: users, acceptsCertificates: true, pluginDirectory: unpackedPlugins)
            try await withTestRealm(options) { other in
                let third = try await keys(other)
                #expect(third.isDisjoint(with: first))
            }
        }
    }

    /// Both authorities have the same key; only their names differ.
    @Test func `a realm rejects a certificate of another realm with the same name`() async throws {
        try await withRealm { realm in
            let foreign = try await realm.certificate(for: "alice")
            try await withRealm { other in
                let own = try await other.certificate(for: "alice")
                for (identity, status) in [(own.identity, 0), (foreign.identity, 1)] {
                    let login = try await other.run("kinit", ["-X", "X509_user_identity=\(identity)", "alice"])
                    #expect(login.exitStatus == status, "\(login)")
                }
            }
        }
    }

    @Test func `kinit signs in anonymously`() async throws {
        try await withRealm { realm in
            let login = try await realm.run("kinit", ["-n"])
            #expect(login.exitStatus == 0, "\(login.errors)")
            #expect(try await realm.run("klist", []).output.contains("WELLKNOWN/ANONYMOUS@WELLKNOWN:ANONYMOUS"))
        }
    }

    @Test func `a realm without a certificate authority issues no certificate`() async throws {
        try await withTestRealm { realm in
            let error = await #expect(throws: KerberosTestingError.self) { try await realm.certificate(for: "alice") }
            #expect(error?.code == .invalidArgument && error?.message.contains("acceptsCertificates") == true)
        }
    }
}

/// A realm with certificates on a machine without the PKINIT plugin.
@Suite struct MissingCertificatePluginTests {
    @Test(.enabled(if: !LibraryPlugin.pkinit.isInstalled, "krb5-pkinit is installed"))
    func `a missing PKINIT plugin is reported with its package`() async throws {
        let error = await #expect(throws: KerberosTestingError.self) { try await withTestRealm(.init(acceptsCertificates: true)) { _ in } }
        #expect(error?.code == .programMissing && error?.message.contains("krb5-pkinit") == true)
    }
}

/// Refuses every prompt.
