import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import TestSupport
import Testing

/// How the keeper signs in again with a certificate, with a real KDC that accepts it.
@Suite(.enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct KeptCertificateTests {
    /// Runs the body with the home of a user who signed in with a certificate for ten hours, and with the certificate.
    private func withSession(_ body: (KeptHome, ClientCertificate) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], acceptsCertificates: true, pluginDirectory: certificatePlugins)
        try await withTestRealm(options) { realm in
            let home = try KeptHome(realm)
            let certificate = try await realm.certificate(for: "alice")
            let source = InitialCredentialSource.certificate(certificate.identity, RefusingPrompter())
            try await home.makeExtension().signIn("alice", using: source, options: .init(lifetime: .seconds(36_000)))
            try await body(home, certificate)
        }
    }

    /// Waits until the keeper has logged a number of failures.
    private func waitForFailures(_ count: Int, _ home: KeptHome) async throws {
        let isReached = try await comesTrue { home.log.all.count == count }
        #expect(isReached, "\(home.log.all)")
    }

    @Test func `the certificate is used again after a temporary refusal by the KDC`() async throws {
        try await withSession { home, _ in
            _ = try await home.realm.kadmin(["modify_principal", "-allow_tix", "alice"])
            try await home.withKeeper { _, events in
                home.clock.advance(by: 7 * 3600)
                try await waitForFailures(1, home)
                _ = try await home.realm.kadmin(["modify_principal", "+allow_tix", "alice"])
                home.clock.advance(by: 360)
                try await events.next(.gotNewCredential)
            }
            #expect(home.log.all.count == 1 && home.log.all.first?.contains("locked, disabled or expired") == true, "\(home.log.all)")
        }
    }

    @Test func `a missing certificate is retried every five minutes, and once after the ticket expires`() async throws {
        try await withSession { home, certificate in
            try FileManager.default.removeItem(atPath: certificate.keyPath)
            try await home.withKeeper { keeper, _ in
                home.clock.advance(by: 7 * 3600)
                try await waitForFailures(1, home)
                for _ in 0..<5 {
                    home.clock.advance(by: 50)
                    await home.settle(keeper)
                }
                #expect(home.log.all.count == 1)
                // The keeper may have recorded the failure one step after it was logged.
                home.clock.advance(by: 110)
                try await waitForFailures(2, home)
                await home.settle(keeper)
                home.clock.advance(by: 4 * 3600)
                try await waitForFailures(3, home)
                for _ in 0..<5 {
                    await home.settle(keeper)
                    home.clock.advance(by: 3600)
                }
                await home.settle(keeper)
            }
            let lines = home.log.all
            let count = lines.count { $0.contains("no certificate could be used") }
            #expect(lines.count == 3 && count == 3, "\(lines)")
        }
    }

    /// Because libkrb5 would run the module, only a person may choose it, not a mark in the cache.
    @Test func `a PKCS #11 module that neither a profile nor krb5.conf lists is not tried again`() async throws {
        try await withSession { home, _ in
            let client = home.makeClient()
            let session = try #require(try await home.makeExtension().sessions().sessions.first)
            let contents = try await client.contents(of: session.cache)
            let marks = contents.marks.merging(["ksso_certificate": "PKCS11:/nonexistent/module.so"]) { $1 }
            try await client.replace(session.cache, principal: contents.principal, credentials: contents.credentials, marks: marks)
            try await home.withKeeper { keeper, _ in
                home.clock.advance(by: 7 * 3600)
                try await waitForFailures(1, home)
                for _ in 0..<5 {
                    await home.settle(keeper)
                    home.clock.advance(by: 360)
                }
                await home.settle(keeper)
            }
            let lines = home.log.all
            #expect(lines.count == 1 && lines.first?.contains("module.so cannot be reused") == true, "\(lines)")
        }
    }
}
