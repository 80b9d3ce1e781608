import Foundation
import KerberosTesting
import TestSupport
import Testing

/// `ksso login --certificate`, and what a profile says of certificates and passwords, at a KDC that takes both.
@Suite(.enabled(if: LoadableLibrary.pkinit != nil, "krb5-pkinit is missing: Scripts/install-packages unpacks it"))
struct CertificateLoginTests {
    private func withKDC(
        _ keys: String = "",
        data: [String] = [],
        relations: (CertificateAuthority) -> [String: String] = { _ in [:] },
        _ body: (Workstation, CertificateAuthority) async throws -> Void
    ) async throws {
        let plugin = try #require(LoadableLibrary.pkinit).path
        let authority = try CertificateAuthority(realm: "EXAMPLE.TEST")
        var options = TestRealmOptions(
            users: ["alice": "secret"],
            clientRelations: ["pkinit_anchors": authority.anchor].merging(relations(authority)) { $1 },
            kdcRelations: ["pkinit_identity": authority.kdcIdentity, "pkinit_anchors": authority.anchor]
        )
        options.pluginModules = ["clpreauth": "pkinit:\(plugin)", "kdcpreauth": "pkinit:\(plugin)"]
        try await withTestRealm(options) { realm in
            let station = try Workstation(realm: realm)
            try station.install(keys.replacing("IDENTITY", with: authority.identity) + profile(data: data))
            try await body(station, authority)
            withExtendedLifetime(authority) {}
        }
    }

    @Test func aCertificateSignsIn() async throws {
        try await withKDC { station, authority in
            let login = try await station.ksso("login", "alice", "--certificate", authority.identity)
            #expect(login.exitStatus == 0 && login.output.hasPrefix("alice@EXAMPLE.TEST is signed in until "), "\(login)")
            #expect(try await station.run(["klist", "-s"]).exitStatus == 0)
            let withPIN = try await station.ksso(
                "login",
                "alice",
                "--force",
                "--certificate",
                authority.protectedIdentity,
                "--password-stdin",
                input: "1234\n"
            )
            #expect(withPIN.exitStatus == 0, "\(withPIN)")
        }
    }

    /// libkrb5 itself would go on to the password.
    @Test func whatIsWrongWithACertificateAsksForNoPassword() async throws {
        try await withKDC { station, authority in
            for (identity, input) in [("FILE:/nonexistent.pem,/nonexistent.key", "secret\n"), (authority.protectedIdentity, "secret\n")] {
                let words = ["ksso", "login", "alice", "--certificate", identity, "--password-stdin"]
                let login = try await station.run(words, input: input)
                #expect(login.exitStatus == 1 && login.errors.contains("no certificate could be used"), "\(login)")
                #expect(login.errors.contains("no password was tried"))
            }
            #expect(try await station.realm.failedAttempts(of: "alice") == 0)
            #expect(try await station.run(["klist", "-s"]).exitStatus == 1)
        }
    }

    @Test func theProfileForbidsPasswords() async throws {
        try await withKDC("CertificateIdentity: 'IDENTITY'\n", data: ["allowPassword: false"]) { station, _ in
            let password = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n")
            #expect(password.exitStatus == 1 && password.errors.contains("allowPassword: false"), "\(password)")
            #expect(try await station.ksso("login", "alice", "--certificate", "default").exitStatus == 0)
        }
    }

    @Test func theProfileForbidsCertificates() async throws {
        try await withKDC(data: ["allowSmartCard: false"]) { station, authority in
            let refused = try await station.ksso("login", "alice", "--certificate", authority.identity)
            #expect(refused.exitStatus == 1 && refused.errors.contains("allowSmartCard: false"), "\(refused)")
            #expect(try await station.ksso("login", "alice", "--password-stdin", input: "secret\n").exitStatus == 0)
        }
    }

    @Test func theIssuerFilterLeavesOutOthers() async throws {
        for (filter, status) in [("*Corp CA*", 0), ("O=Corp,CN=Corp CA", 0), ("*Other CA*", 1), ("Corp CA", 1)] as [(String, Int)] {
            try await withKDC(data: ["identityIssuerAutoSelectFilter: '\(filter)'"]) { station, authority in
                let login = try await station.ksso("login", "alice", "--certificate", authority.identity)
                #expect(login.exitStatus == status, "\(filter): \(login)")
            }
        }
    }

    @Test func krb5ConfNamesOneToo() async throws {
        try await withKDC(relations: { ["pkinit_identities": $0.identity] }) { station, _ in
            let login = try await station.ksso("login", "alice", "--certificate", "default")
            #expect(login.exitStatus == 0, "\(login)")
        }
        try await withKDC { station, _ in
            let login = try await station.ksso("login", "alice", "--certificate", "default")
            #expect(login.exitStatus == 1 && login.errors.contains("no certificate is configured"), "\(login)")
        }
    }

    /// With no word of it on the command line, and with nobody at a terminal.
    @Test func theProfileBeginsWithTheCertificate() async throws {
        try await withKDC("CertificateIdentity: 'IDENTITY'\n", data: ["startInSmartCardMode: true"]) { station, _ in
            let conversation = try await station.run(["script", "-qec", "ksso login alice", "/dev/null"])
            #expect(conversation.output.contains("alice@EXAMPLE.TEST is signed in until"), "\(conversation)")
        }
    }
}

/// Without the plugin, which a machine has only where somebody installed it.
@Suite(.testRealm(users: ["alice": "secret"]))
struct MissingCertificatePluginTests {
    @Test(
        .enabled(
            if: !FileManager.default.fileExists(atPath: "/usr/lib/x86_64-linux-gnu/krb5/plugins/preauth/pkinit.so"),
            "krb5-pkinit is installed"
        )
    )
    func itIsNamed() async throws {
        let station = try Workstation()
        let login = try await station.ksso("login", "alice", "--certificate", "FILE:/a,/b")
        #expect(login.exitStatus == 1 && login.errors.contains("install krb5-pkinit"), "\(login)")
        let both = try await station.ksso("login", "--certificate", "FILE:/a", "--keytab", "/b")
        #expect(both.exitStatus == 64)
    }
}
