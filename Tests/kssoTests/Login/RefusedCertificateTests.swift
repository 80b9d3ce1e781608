import KerberosTesting
import TestSupport
import Testing

/// `ksso login --certificate` with a certificate that a real KDC, or libkrb5 itself, refuses.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct RefusedCertificateTests {
    private func withKDC(_ relations: [String: String] = [:], _ body: (TestRealm, Workstation) async throws -> Void) async throws {
        let plugin = try #require(LoadableLibrary.pkinit)
        let options = TestRealmOptions(
            users: ["alice": "secret"],
            kdcRelations: relations,
            acceptsCertificates: true,
            pluginDirectory: "\(plugin.folder)/krb5/plugins"
        )
        try await withTestRealm(options) { try await body($0, try Workstation(realm: $0)) }
    }

    /// The KDC has no revocation list.
    @Test func `a certificate whose revocation the KDC cannot check is reported with advice`() async throws {
        try await withKDC(["pkinit_require_crl_checking": "true"]) { realm, station in
            let login = try await station.ksso("login", "alice", "--certificate", realm.certificate(for: "alice").identity)
            let sentence = "alice@EXAMPLE.TEST: the KDC cannot find out whether the certificate has been revoked ("
            let advice = "Ask the realm's administrator to update the KDC's revocation lists, then try again.\n"
            #expect(login.exitStatus == 1 && login.errors.contains(sentence) && login.errors.hasSuffix(advice), "\(login)")
        }
    }

    @Test func `a certificate of an authority that krb5.conf does not list is reported with advice`() async throws {
        try await withKDC { _, station in
            try await withKDC { other, _ in
                let identity = try await other.certificate(for: "alice").identity
                let login = try await station.ksso("login", "alice", "--certificate", identity)
                let sentence = "alice@EXAMPLE.TEST: this machine cannot verify the certificate, so it was not sent ("
                #expect(login.exitStatus == 1 && login.errors.contains(sentence), "\(login)")
                #expect(login.errors.contains("krb5.conf lists its authority (pkinit_anchors)"), "\(login)")
            }
        }
    }
}
