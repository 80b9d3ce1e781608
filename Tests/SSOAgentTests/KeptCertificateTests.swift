import Foundation
import Kerberos
import KerberosEngine
import KerberosTesting
import SSOAgentClient
import TestSupport
import Testing

/// The keeper, a certificate, and a real KDC that takes it.
@Suite(.enabled(if: certificatePlugins != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct KeptCertificateTests {
    /// Lends the surroundings of somebody who signed in with a certificate for ten hours, and that.
    private func withSession(_ body: (KeptHome, ClientCertificate) async throws -> Void) async throws {
        let options = TestRealmOptions(users: ["alice": "secret"], acceptsCertificates: true, pluginDirectory: certificatePlugins)
        try await withTestRealm(options) { realm in
            let home = try KeptHome(realm)
            let certificate = try await realm.certificate(for: "alice")
            let source = InitialCredentialSource.certificate(certificate.identity, NobodyAnswers())
            try await home.makeExtension().signIn("alice", using: source, options: .init(lifetime: .seconds(36_000)))
            try await body(home, certificate)
        }
    }

    /// Waits for so many failures.
    private func said(_ count: Int, _ home: KeptHome) async throws {
        let isSaid = try await comesTrue { home.log.lines.count == count }
        #expect(isSaid, "\(home.log.lines)")
    }

    @Test func `after a passing refusal the certificate is used again`() async throws {
        try await withSession { home, _ in
            _ = try await home.realm.kadmin(["modify_principal", "-allow_tix", "alice"])
            try await home.withKeeper { _, events in
                home.clock.advance(by: 7 * 3600)
                try await said(1, home)
                _ = try await home.realm.kadmin(["modify_principal", "+allow_tix", "alice"])
                home.clock.advance(by: 360)
                try await events.next(.gotNewCredential)
            }
            #expect(home.log.lines.count == 1 && home.log.lines.first?.contains("locked, disabled or expired") == true, "\(home.log.lines)")
        }
    }

    @Test func `a certificate that is gone is looked for every five minutes, and once after the end`() async throws {
        try await withSession { home, certificate in
            try FileManager.default.removeItem(atPath: certificate.keyPath)
            try await home.withKeeper { keeper, _ in
                home.clock.advance(by: 7 * 3600)
                try await said(1, home)
                for _ in 0..<5 {
                    home.clock.advance(by: 50)
                    await home.settle(keeper)
                }
                #expect(home.log.lines.count == 1)
                // The failure may have been seen one step later than it was told.
                home.clock.advance(by: 110)
                try await said(2, home)
                await home.settle(keeper)
                home.clock.advance(by: 4 * 3600)
                try await said(3, home)
                for _ in 0..<5 {
                    await home.settle(keeper)
                    home.clock.advance(by: 3600)
                }
                await home.settle(keeper)
            }
            let lines = home.log.lines
            let count = lines.count { $0.contains("no certificate could be used") }
            #expect(lines.count == 3 && count == 3, "\(lines)")
        }
    }

    /// The mark says what only a person may: libkrb5 would run the module.
    @Test func `a module that neither profile nor krb5.conf names is not tried again`() async throws {
        try await withSession { home, _ in
            let client = home.makeClient()
            let session = try #require(try await home.makeExtension().sessions().sessions.first)
            let contents = try await client.contents(of: session.cache)
            let marks = contents.marks.merging(["ksso_certificate": "PKCS11:/nonexistent/module.so"]) { $1 }
            try await client.replace(session.cache, principal: contents.principal, credentials: contents.credentials, marks: marks)
            try await home.withKeeper { keeper, _ in
                home.clock.advance(by: 7 * 3600)
                try await said(1, home)
                for _ in 0..<5 {
                    await home.settle(keeper)
                    home.clock.advance(by: 360)
                }
                await home.settle(keeper)
            }
            let lines = home.log.lines
            #expect(lines.count == 1 && lines.first?.contains("module.so cannot be reused") == true, "\(lines)")
        }
    }
}

private struct NobodyAnswers: Prompter {
    func answers(to request: PromptRequest) throws -> [Secret] { throw PromptRefusal.notInteractive }
}
