import Foundation
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

    /// The authority of another realm has another name, and a forged one the name of the realm's own.
    @Test(arguments: [false, true])
    func `a certificate of an authority that krb5.conf does not list is reported with advice`(isForged: Bool) async throws {
        try await withKDC { realm, station in
            try await withKDC { other, _ in
                let identity = try await isForged ? forgedCertificate(realm) : other.certificate(for: "alice").identity
                let login = try await station.ksso("login", "alice", "--certificate", identity)
                let sentence = "alice@EXAMPLE.TEST: this machine cannot verify the certificate, so it was not sent ("
                #expect(login.exitStatus == 1 && login.errors.contains(sentence), "\(login)")
                #expect(login.errors.contains("krb5.conf lists its authority (pkinit_anchors)"), "\(login)")
            }
        }
    }

    /// Alice's certificate of an authority with the name of the realm's, but another key.
    private func forgedCertificate(_ realm: TestRealm) async throws -> String {
        let own = try await realm.certificate(for: "alice")
        let path = "\(realm.directory)/forged"
        func openssl(_ arguments: [String]) async throws -> String {
            let result = try await realm.run("openssl", arguments)
            return try #require(result.exitStatus == 0 ? result.output : nil, "\(result)")
        }
        let authority = realm.certificateAuthorityPath
        let name = try await openssl(["x509", "-in", authority, "-noout", "-subject", "-nameopt", "compat"])
        let subject = name.trimmingCharacters(in: .newlines).replacing("subject=", with: "")
        let key = ["-newkey", "rsa:2048", "-noenc", "-keyout", "\(path)-ca.key"]
        _ = try await openssl(["req", "-x509", "-days", "1", "-subj", subject, "-out", "\(path)-ca.pem"] + key)
        let signer = ["-CA", "\(path)-ca.pem", "-CAkey", "\(path)-ca.key"]
        // The kit's own configuration for alice's certificate.
        let contents = ["-config", own.certificatePath.dropLast(3) + "cnf", "-extensions", "own", "-key", own.keyPath]
        _ = try await openssl(["req", "-x509", "-days", "1", "-out", "\(path).pem"] + contents + signer)
        let issuer = try await openssl(["x509", "-in", "\(path).pem", "-noout", "-issuer", "-nameopt", "compat"])
        try #require(issuer.replacing("issuer=", with: "subject=") == name)
        return "FILE:\(path).pem,\(own.keyPath)"
    }

    /// Runs a closure at a KDC whose certificate is one of another realm's authority, to which the user's certificate belongs too.
    ///
    /// - Parameters:
    ///   - identity: Returns the KDC's certificate, of the other realm with the same name.
    ///   - settings: Lines of the client's krb5.conf.
    ///   - authority: The authority of the KDC's certificate, if it is none that the client trusts.
    private func withKDC(
        identity: (TestRealm) async throws -> String,
        settings: [String: String] = [:],
        ofAuthority authority: String? = nil,
        _ body: (Workstation, _ user: String) async throws -> Void
    ) async throws {
        let plugins = "\(try #require(LoadableLibrary.pkinit).folder)/krb5/plugins"
        try await withKDC { other, _ in
            let anchors = "FILE:\(other.certificateAuthorityPath)"
            // The KDC itself must trust both.
            let paths = [other.certificateAuthorityPath] + (authority.map { [$0] } ?? [])
            let bundle = "\(other.directory)/bundle.pem"
            try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
                .write(toFile: bundle, atomically: true, encoding: .utf8)
            let options = TestRealmOptions(
                users: ["alice": "secret"],
                clientRelations: settings.merging(["pkinit_anchors": anchors]) { own, _ in own },
                kdcRelations: ["pkinit_identity": try await identity(other), "pkinit_anchors": "FILE:\(bundle)"],
                acceptsCertificates: true,
                pluginDirectory: plugins
            )
            let user = try await other.certificate(for: "alice").identity
            try await withTestRealm(options) { try await body(try Workstation(realm: $0), user) }
        }
    }

    /// The KDC's own certificate, of the authority of the realm.
    private static func own(_ realm: TestRealm) -> String {
        let folder = realm.certificateAuthorityPath.dropLast("/ca.pem".count)
        return "FILE:\(folder)/kdc.pem,\(folder)/kdc.key"
    }

    @Test func `a KDC with a certificate of an authority that the machine trusts is accepted`() async throws {
        try await withKDC(identity: Self.own) { station, user in
            let login = try await station.ksso("login", "alice", "--certificate", user)
            #expect(login.exitStatus == 0, "\(login)")
        }
    }

    /// Signs in, and expects that the KDC is refused.
    private func expectRefusal(_ sentence: String, _ station: Workstation, _ user: String) async throws {
        let login = try await station.ksso("login", "alice", "--certificate", user)
        #expect(login.exitStatus == 1 && login.errors.contains("alice@EXAMPLE.TEST: \(sentence), so its answer was discarded"), "\(login)")
        #expect(try await station.run(["klist", "-s"]).exitStatus != 0)
    }

    /// A KDC in its place would be accepted otherwise.
    @Test func `a KDC with a certificate of an unknown authority is refused`() async throws {
        try await withKDC { unknown, _ in
            try await withKDC(identity: { _ in Self.own(unknown) }, ofAuthority: unknown.certificateAuthorityPath) { station, user in
                try await expectRefusal("the KDC's certificate is of no authority that this machine trusts", station, user)
            }
        }
    }

    @Test func `a KDC with the certificate of another realm is refused`() async throws {
        try await withKDC(identity: { try await $0.certificate(for: "krbtgt/OTHER.TEST").identity }) { station, user in
            try await expectRefusal("the KDC's certificate is not that of a KDC of this realm", station, user)
        }
    }

    /// A certificate for a host, of the realm's authority.
    private static func certificate(of host: String, purpose: String, _ realm: TestRealm) async throws -> String {
        let authority = realm.certificateAuthorityPath.dropLast("/ca.pem".count)
        let path = "\(realm.directory)/\(host)-\(purpose)"
        let names = [
            "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)", "-addext", "extendedKeyUsage=\(purpose)", "-addext",
            "keyUsage=digitalSignature",
        ]
        let files = ["-CA", "\(authority)/ca.pem", "-CAkey", "\(authority)/ca.key", "-keyout", "\(path).key", "-out", "\(path).pem"]
        let words = ["req", "-x509", "-days", "1", "-newkey", "rsa:2048", "-noenc", "-addext", "basicConstraints=CA:FALSE"]
        let result = try await realm.run("openssl", words + names + files)
        guard result.exitStatus == 0 else { throw KerberosTestingError(.commandFailed, "\(result)") }
        return "FILE:\(path).pem,\(path).key"
    }

    /// What Windows' controllers have: the host's name, and the purpose of a KDC or of a server.
    @Test(arguments: [
        ("kdc.example.test", "1.3.6.1.5.2.3.5", nil), ("other.example.test", "1.3.6.1.5.2.3.5", "not that of a KDC of this realm"),
        ("kdc.example.test", "serverAuth", "for another purpose than a KDC's (1.3.6.1.5.2.3.5)"),
    ])
    func `pkinit_kdc_hostname accepts a KDC with that host name in its certificate`(
        host: String,
        purpose: String,
        refusal: String?
    ) async throws {
        let settings = ["pkinit_kdc_hostname": "kdc.example.test"]
        try await withKDC(identity: { try await Self.certificate(of: host, purpose: purpose, $0) }, settings: settings) { station, user in
            if let refusal { return try await expectRefusal("the KDC's certificate is \(refusal)", station, user) }
            let login = try await station.ksso("login", "alice", "--certificate", user)
            #expect(login.exitStatus == 0, "\(login)")
        }
    }
}
