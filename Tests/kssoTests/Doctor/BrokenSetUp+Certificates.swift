import Kerberos
import KerberosTesting
import SignOnDiagnosis
import TestSupport
import Testing

extension BrokenSetUp {
    private static let obstacle =
        LibraryPlugin.pkinit.isInstalled || LoadableLibrary.pkinit != nil
        ? nil : "krb5-pkinit is missing: Scripts/install-packages unpacks it"

    static let certificates = [
        certificate("a missing certificate", "FILE:/nonexistent/me.pem", naming: "/nonexistent/me.pem: No such file or directory"),
        certificate(
            "a missing module of a card",
            "PKCS11:module_name=/nonexistent/card.so",
            naming: "module /nonexistent/card.so does not exist"
        ),
        BrokenSetUp("an expired certificate", failsAt: "certificate", naming: "/me.pem expired on", obstacle: obstacle) {
            try await withCertificate { station in "FILE:\(try station.write(expired, to: "me.pem"))" }
        },
        BrokenSetUp("a certificate without its key", failsAt: "certificate", naming: "contains no private key", obstacle: obstacle) {
            try await withCertificate { station in "FILE:\(try await station.issueCertificate("alice").certificate)" }
        },
        BrokenSetUp(
            "a certificate with another key",
            failsAt: "certificate",
            naming: "belongs to another certificate than",
            obstacle: obstacle
        ) {
            try await withCertificate { station in
                let (own, other) = (try await station.issueCertificate("alice"), try await station.issueCertificate("bob"))
                return "FILE:\(own.certificate),\(other.key)"
            }
        },
        BrokenSetUp(
            "a certificate of another authority",
            failsAt: "certificate",
            naming: "this machine cannot verify the certificate, so it was not sent",
            obstacle: obstacle
        ) {
            try await withCertificate(selfSigned)
        },
        BrokenSetUp(
            "a certificate of another principal",
            failsAt: "certificate",
            naming: "the certificate belongs to another principal",
            obstacle: obstacle
        ) {
            try await withCertificate(data: ["principalName: alice"]) { station in
                try await station.realm.certificate(for: "bob").identity
            }
        },
        BrokenSetUp(
            "a KDC that accepts no certificates",
            failsAt: "certificate",
            naming: "the KDC offers no sign-in with certificates",
            obstacle: obstacle
        ) {
            try await withCertificate(isAccepted: false, selfSigned)
        },
        BrokenSetUp(
            "a smart card that is not inserted",
            failsAt: "certificate",
            naming: "no smart card was found for",
            obstacle: cardObstacle
        ) {
            let module = try #require(LoadableLibrary.card).path
            return try await withCertificate { _ in "PKCS11:module_name=\(module):token=Staff card" }
        },
        BrokenSetUp(
            "a smart card whose module is another library",
            failsAt: "certificate",
            naming: "the file that module_name names is no module of a smart card",
            obstacle: obstacle
        ) {
            try await withCertificate { _ in "PKCS11:module_name=libc.so.6" }
        },
        BrokenSetUp(
            "a smart card whose module does not answer",
            failsAt: "certificate",
            naming: "the module of the smart card or a KDC did not answer within",
            obstacle: cardObstacle
        ) {
            let module = try #require(LoadableLibrary.card).path
            return try await withCertificate(environment: { station in
                // The module reads its settings from a pipe without a writer.
                let pipe = "\(station.directory)/softhsm2.conf"
                try #require(try await station.run(["mkfifo", pipe]).exitStatus == 0)
                return ["SOFTHSM2_CONF": pipe]
            }) { _ in "PKCS11:module_name=\(module)" }
        },
    ]

    private static func selfSigned(_ station: Workstation) async throws -> String {
        let own = try await station.issueCertificate("alice")
        return "FILE:\(own.certificate),\(own.key)"
    }

    private static let cardObstacle =
        obstacle ?? (LoadableLibrary.card != nil ? nil : "softhsm2 is missing: Scripts/install-packages unpacks it")

    private static func certificate(_ cause: String, _ identity: String, naming words: String) -> BrokenSetUp {
        BrokenSetUp(cause, failsAt: "certificate", naming: words, obstacle: obstacle) { try await withCertificate { _ in identity } }
    }

    /// Runs the doctor with a profile that prefers a certificate.
    private static func withCertificate(
        isAccepted: Bool = true,
        data: [String] = [],
        environment: (Workstation) async throws -> [String: String] = { _ in [:] },
        _ identity: (Workstation) async throws -> String
    ) async throws -> Diagnosis {
        let isAccepted = isAccepted && LoadableLibrary.pkinit != nil
        let realm = isAccepted ? try TestRealmOptions.acceptingCertificates() : TestRealmOptions(users: ["alice": "secret"])
        return try await withStation(realm, signsIn: false) { station in
            let keys = "CertificateIdentity: \"\(try await identity(station))\"\n"
            try station.install(keys + profile(hosts: ["localhost"], data: ["startInSmartCardMode: true"] + data))
            // The plugin is unpacked, and not where libkrb5 looks for it.
            let plugin = LoadableLibrary.pkinit.map { "pkinit:\($0.path)" } ?? ""
            let module = LibraryPlugin.pkinit.isInstalled ? "" : "[plugins]\nclpreauth = {\nmodule = \(plugin)\n}\n"
            let configuration = try station.write(module, to: "plugins.conf")
            let variables = ["KRB5_CONFIG": "\(configuration):\(station.realm.configurationPath)"]
            return try await station.doctor(environment: variables.merging(try await environment(station)) { $1 })
        }
    }

    /// A self-signed certificate that was valid on the first day of 2020.
    private static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBGjCBwQIUa7g0n3rExQosPXVfH3Y0DpkxO0gwCgYIKoZIzj0EAwIwEDEOMAwG
        A1UEAwwFYWxpY2UwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMTAyMDAwMDAwWjAQMQ4w
        DAYDVQQDDAVhbGljZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO9O/fzN07/Y
        +wn0mNVm1qA7WQxNKYZxo6uNITr8MmQyaVtRV9cSbLZmkwJyJjx6Z7EMY8VAf/81
        vcyBJW4J9TwwCgYIKoZIzj0EAwIDSAAwRQIhAL4eja7+V0GVZOFfjFLj7oSy+d8s
        RUBlhEXnvuSiSzCMAiBjrrhduljbG7AIrSQ02v0NwUEGBpp3NRlGzHqH1pORrg==
        -----END CERTIFICATE-----

        """
}

extension Workstation {
    /// Makes a key, and a certificate that it signs itself.
    fileprivate func issueCertificate(_ name: String) async throws -> (certificate: String, key: String) {
        let (certificate, key) = ("\(directory)/\(name).pem", "\(directory)/\(name).key")
        let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)"]
        let result = try await run(["openssl", "req", "-x509"] + kind + ["-keyout", key, "-out", certificate])
        try #require(result.exitStatus == 0, "\(result)")
        return (certificate, key)
    }
}
