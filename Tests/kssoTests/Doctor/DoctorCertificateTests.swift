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
            #expect(check.verdict == .ok && check.detail == "\(identity) was not tried at the KDC, because that requires its PIN.")
        }
    }

    @Test func `the end of a certificate is reported even if its key requires a PIN`() async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            let certificate = try await realm.certificate(for: "alice")
            let key = "\(station.directory)/protected.key"
            let encrypt = ["openssl", "pkey", "-in", certificate.keyPath, "-aes256", "-passout", "stdin", "-out", key]
            #expect(try await station.run(encrypt, input: "1234\n").exitStatus == 0)
            let identity = "FILE:\(certificate.certificatePath),\(key)"
            try station.install("CertificateIdentity: \"\(identity)\"\n" + profile(data: ["startInSmartCardMode: true"]))
            let check = try #require(try await station.doctor().checks.first { $0.name == "certificate" })
            #expect(check.verdict == .ok && check.detail.hasPrefix("\(identity) is valid until "), "\(check)")
            #expect(check.detail.hasSuffix(" left), and was not tried at the KDC, because that requires its PIN."), "\(check)")
        }
    }

    /// The user's name was taken for the principal, which may be another person's.
    @Test func `a certificate of another principal than a guessed one causes only a warning`() async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            try await realm.addUser("bob", password: "secret")
            let station = try Workstation(realm: realm)
            let identity = try await realm.certificate(for: "bob").identity
            try station.install("CertificateIdentity: \"\(identity)\"\n" + profile(data: ["startInSmartCardMode: true"]))
            let check = try #require(try await station.doctor().checks.first { $0.name == "certificate" })
            #expect(check.verdict == .warning && check.detail.contains("the certificate belongs to another principal"), "\(check)")
            #expect(check.remedy?.contains("ksso setup --principal NAME@EXAMPLE.TEST") == true, "\(check)")
        }
    }

    /// The realm's KDCs are named by krb5.conf only, and no one is signed in.
    @Test func `a certificate is not sent to a realm for which no profile and no session names the principal`() async throws {
        try await withTestRealm(.acceptingCertificates()) { realm in
            let station = try Workstation(realm: realm)
            let identity = try await realm.certificate(for: "alice").identity
            let own = try station.write("[libdefaults]\n pkinit_identities = \(identity)\n", to: "own.conf")
            let environment = ["KRB5_CONFIG": "\(own):\(realm.configurationPath)"]
            let check = try #require(try await station.doctor(environment: environment).checks.first { $0.name == "certificate" })
            #expect(check.detail.contains(" was not tried at the KDC, because a certificate names its owner"), "\(check)")
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
