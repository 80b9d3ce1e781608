import KerberosTesting
import SignOnPolicy
import Testing

extension BrokenSetUp {
    /// No server listens at this address, because the doctor finds these faults before it contacts the server.
    private static let url = "http://localhost:9/"

    static let services = [
        BrokenSetUp("a missing service principal", failsAt: "service", naming: "does not know the service HTTP/localhost") {
            try await withStation(TestRealmOptions(users: ["alice": "secret"])) { try await $0.doctor(url) }
        },
        BrokenSetUp(
            "a service principal on another account",
            failsAt: "keytab",
            naming: "HTTP/localhost@EXAMPLE.TEST",
            "belongs to another account"
        ) {
            try await withStation { station in
                // The other account's key has the same version number as the server's key.
                let keytab = try await station.realm.keytab(for: "HTTP/localhost")
                try await station.realm.remake("HTTP/localhost")
                return try await station.doctor("--keytab", keytab, url)
            }
        },
        BrokenSetUp("a keytab with an old kvno", failsAt: "keytab", naming: "kvno 2", "has kvno 1", "the keytab is old") {
            try await withStation { station in
                let keytab = try await station.realm.keytab(for: "HTTP/localhost")
                _ = try await station.realm.kadmin(["change_password", "-randkey", "HTTP/localhost"])
                return try await station.doctor("--keytab", keytab, url)
            }
        },
        BrokenSetUp(
            "a keytab with another encryption type",
            failsAt: "keytab",
            naming: "aes256-cts-hmac-sha1-96",
            "another encryption type only: aes128-cts-hmac-sha1-96"
        ) {
            try await withStation { station in
                try await station.realm.remake("HTTP/localhost", encryption: "aes128-cts-hmac-sha1-96:normal")
                let keytab = try await station.realm.keytab(for: "HTTP/localhost")
                try await station.realm.remake("HTTP/localhost", encryption: "aes256-cts-hmac-sha1-96:normal")
                return try await station.doctor("--keytab", keytab, url)
            }
        },
        BrokenSetUp(
            "a CNAME",
            failsAt: "service",
            naming: "alias.example.test is an alias (CNAME) of real.example.test",
            "whose service HTTP/real.example.test it knows",
            obstacle: LoadableLibrary.nameService == nil ? "nss_wrapper is missing: Scripts/install-packages unpacks it" : nil
        ) {
            let options = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/real.example.test"])
            return try await withStation(options, hosts: ["alias.example.test"]) { station in
                let environment = [
                    "LD_PRELOAD": LoadableLibrary.nameService?.path ?? "", "NSS_WRAPPER_DISABLE_DEEPBIND": "1",
                    "NSS_WRAPPER_HOSTS": try station.write("127.0.0.1 real.example.test alias.example.test\n", to: "hosts"),
                ]
                return try await station.doctor("http://alias.example.test:9/", environment: environment)
            }
        },
        BrokenSetUp(
            "a KDC whose keys are new",
            failsAt: "service",
            naming: "the KDC cannot decrypt the ticket-granting ticket of alice@EXAMPLE.TEST"
        ) {
            try await withStation { station in
                try await station.realm.rotateKeys(of: "krbtgt/EXAMPLE.TEST", keepingOld: false, updatesKeytab: false)
                return try await station.doctor(url)
            }
        },
    ]
}

extension TestRealm {
    /// Recreates a service principal, so that its key changes and its version number starts at 1 again.
    fileprivate func remake(_ service: String, encryption: String? = nil) async throws {
        _ = try await kadmin(["delete_principal", "-force", service])
        _ = try await kadmin(["add_principal", "-randkey"] + (encryption.map { ["-e", $0] } ?? []) + [service])
    }
}
