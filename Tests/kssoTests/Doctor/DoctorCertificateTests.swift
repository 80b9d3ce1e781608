import KerberosTesting
import SignOnDiagnosis
import Testing

/// The doctor's check of the user's certificate.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct DoctorCertificateTests {
    @Test func `a certificate that works is reported with its end`() async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            let identity = try await realm.certificate(for: "alice").identity
            try station.install("CertificateIdentity: \"\(identity)\"\n" + profile(data: ["startInSmartCardMode: true"]))
            let diagnosis = try await station.doctor()
            let check = try #require(diagnosis.checks.first { $0.name == "certificate" }, "\(diagnosis)")
            #expect(check.verdict == .ok && check.detail.hasPrefix("\(identity) is valid until "), "\(check)")
            #expect(check.detail.contains(" left), and is accepted by the KDC for alice@EXAMPLE.TEST."), "\(check)")
            #expect(try await station.run(["klist", "-s"]).exitStatus != 0, "the ticket is discarded")
        }
    }

    @Test func `a file that requires a PIN is not examined further`() async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            let identity = try await realm.certificate(for: "alice", pin: "1234").identity
            try station.install("CertificateIdentity: \"\(identity)\"\n" + profile(data: ["startInSmartCardMode: true"]))
            let check = try #require(try await station.doctor().checks.first { $0.name == "certificate" })
            #expect(check.verdict == .ok && check.detail == "\(identity) is not examined further, because that requires its PIN.")
        }
    }

    /// A password signs in too.
    @Test func `a certificate that is not needed causes only a warning`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"])) { realm in
            let station = try Workstation(realm: realm)
            try station.install("CertificateIdentity: \"FILE:/nonexistent/me.pem\"\n" + profile())
            try await station.signIn()
            let diagnosis = try await station.doctor()
            let check = try #require(diagnosis.checks.first { $0.name == "certificate" }, "\(diagnosis)")
            #expect(check.verdict == .warning && diagnosis.isHealthy, "\(diagnosis)")
        }
    }

    @Test func `without a certificate there is no check of one`() async throws {
        try await withTestRealm(TestRealmOptions(users: ["alice": "secret"])) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile())
            #expect(try await !station.doctor().checks.contains { $0.name == "certificate" })
        }
    }
}
