import Foundation
import Kerberos
import KerberosTesting
import SignOnDiagnosis
import SignOnPolicy
import TestSupport
import Testing

/// KDC discovery with a profile that lists preferred KDCs and a simulated DNS that lists another one.
@Suite(
    .enabled(
        if: LoadableLibrary.resolver != nil && LoadableLibrary.nameService != nil,
        "resolv_wrapper or nss_wrapper is missing: Scripts/install-packages unpacks them"
    )
)
struct DiscoveredKDCTests {
    private static let options = TestRealmOptions(
        users: ["alice": "secret"],
        services: ["HTTP/localhost"],
        clientRelations: ["dns_lookup_kdc": "true"]
    )

    /// Runs a closure with a station whose krb5.conf lists no KDC, and the environment of a child process whose DNS has the given record.
    private func withDNS(
        preferred: [String],
        record: (TestRealm) -> String,
        _ body: (Workstation, [String: String]) async throws -> Void
    ) async throws {
        let libraries = [try #require(LoadableLibrary.resolver).path, try #require(LoadableLibrary.nameService).path]
        try await withTestRealm(Self.options) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(data: ["preferredKDCs: [\(preferred.joined(separator: ", "))]"]))
            let lines = try String(contentsOfFile: realm.configurationPath, encoding: .utf8).split(separator: "\n")
            let others = lines.filter { !$0.contains("kdc = 127.0.0.1") }
            let environment = [
                "LD_PRELOAD": libraries.joined(separator: ":"),
                "RESOLV_WRAPPER_HOSTS": try station.write(record(realm) + "\n", to: "records"),
                // A name in a record ends with a dot, and glibc does not look up such a name in /etc/hosts.
                "NSS_WRAPPER_HOSTS": try station.write("127.0.0.1 localhost\n", to: "hosts"), "NSS_WRAPPER_DISABLE_DEEPBIND": "1",
                "RESOLV_WRAPPER_DISABLE_DEEPBIND": "1",  // deep binding is incompatible with the sanitizers
                "KRB5_CONFIG": try station.write(others.joined(separator: "\n") + "\n", to: "krb5.conf"),
            ]
            #expect(others.count == lines.count - 1)
            try await body(station, environment)
        }
    }

    @Test func `KDCs from DNS are tried after unreachable preferred KDCs`() async throws {
        try await withDNS(preferred: ["127.0.0.1:1"], record: { "SRV _kerberos._tcp.EXAMPLE.TEST localhost \($0.kdcPort)" }) {
            station,
            environment in
            let explained = try await station.ksso("explain", "https://localhost/", environment: environment)
            #expect(
                explained.output.contains(
                    "+ kdc: The KDCs of EXAMPLE.TEST are tried in this order: 127.0.0.1:1, then those that DNS lists (SRV)."
                )
            )
            let login = try await station.ksso(
                "login",
                "alice",
                "--password-stdin",
                "--verbose",
                input: "secret\n",
                environment: environment
            )
            #expect(login.exitStatus == 0, "\(login)")
            #expect(login.errors.contains("KDCs of EXAMPLE.TEST: no preferred KDC answers; querying DNS for others."))
            // A wrong password is sent only once.
            let before = try await station.realm.failedAttempts(of: "alice")
            let wrong = try await station.ksso("login", "alice", "--force", "--password-stdin", input: "wrong\n", environment: environment)
            #expect(wrong.exitStatus == 1 && wrong.errors.contains("the password is wrong"), "\(wrong)")
            #expect(try await station.realm.failedAttempts(of: "alice") == before + 1)
        }
    }

    /// The preferred KDC accepts connections and packets but never responds. The KDCs from DNS still get the full usual time.
    @Test(.timeLimit(.minutes(2))) func `KDCs from DNS are tried after preferred KDCs that never respond`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { dead in
            try await dead.pauseKDC()
            let record = { (realm: TestRealm) in "SRV _kerberos._tcp.EXAMPLE.TEST localhost \(realm.kdcPort)" }
            try await withDNS(preferred: ["127.0.0.1:\(dead.kdcPort)"], record: record) { station, environment in
                let words = ["login", "alice", "--password-stdin", "--verbose"]
                let login = try await station.run(["ksso"] + words, input: "secret\n", environment: environment)
                #expect(login.exitStatus == 0, "\(login)")
                #expect(
                    login.errors.contains("KDCs of EXAMPLE.TEST: no preferred KDC answers; querying DNS for others."),
                    "\(login)"
                )
                let header = try await station.ksso("header", "http://localhost/", environment: environment)
                #expect(header.exitStatus == 0, "\(header)")
            }
        }
    }

    /// The preferred KDC of the trusted realm is unreachable. ksso learns the realm from the KDC's referral or from the profile.
    @Test(arguments: [false, true]) func `the KDCs of a trusted realm are found in DNS too`(isMapped: Bool) async throws {
        let libraries = [try #require(LoadableLibrary.resolver).path, try #require(LoadableLibrary.nameService).path]
        let options = TestRealmOptions(name: "A.TEST", users: ["alice": "secret"], clientRelations: ["dns_lookup_kdc": "true"])
        try await withTrustedRealms(options, TestRealmOptions(name: "B.TEST", services: ["HTTP/web.b.test"])) { first, second in
            let station = try Workstation(realm: first)
            let mapping = isMapped ? ["domainRealmMapping: {B.TEST: [.b.test]}"] : []
            let profiles = [
                profile(hosts: ["web.b.test"], realm: "A.TEST", data: ["isDefaultRealm: true"] + mapping),
                profile(hosts: ["other.test"], realm: "B.TEST", data: ["preferredKDCs: ['127.0.0.1:1']"]),
            ]
            try station.install(profiles.joined(separator: "\n---\n"))
            let lines = try String(contentsOfFile: first.configurationPath, encoding: .utf8).split(separator: "\n")
            let others = lines.filter { !$0.contains(":\(second.kdcPort)") }
            #expect(others.count == lines.count - 1)
            var environment = [
                "LD_PRELOAD": libraries.joined(separator: ":"), "NSS_WRAPPER_DISABLE_DEEPBIND": "1", "RESOLV_WRAPPER_DISABLE_DEEPBIND": "1",
                "RESOLV_WRAPPER_HOSTS": try station.write("SRV _kerberos._tcp.B.TEST localhost \(second.kdcPort)\n", to: "records"),
                "NSS_WRAPPER_HOSTS": try station.write("127.0.0.1 localhost\n", to: "hosts"),
                "KRB5_CONFIG": try station.write(others.joined(separator: "\n") + "\n", to: "krb5.conf"),
            ]
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
            #expect(login.exitStatus == 0, "\(login)")
            let header = try await station.ksso("header", "https://web.b.test/", "--verbose", environment: environment)
            #expect(header.exitStatus == 0 && header.output.contains("Negotiate "), "\(header)")
            #expect(header.errors.contains("KDCs of B.TEST: no preferred KDC answers; querying DNS for others."), "\(header)")
            environment["RESOLV_WRAPPER_HOSTS"] = try station.write("A nothing.test 127.0.0.1\n", to: "nothing")
            let again = try Workstation(realm: first)
            try again.install(profiles.joined(separator: "\n---\n"))
            _ = try await again.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
            let refused = try await again.ksso("header", "https://web.b.test/", environment: environment)
            #expect(refused.exitStatus == 6 && refused.errors.contains("DNS lists no other KDC"), "\(refused)")
            #expect(refused.errors.contains(/then run: ksso doctor( \S+)?\n/), "the command ends the line: \(refused)")
        }
    }

    /// The KDC that responded knows of the attempt, and another KDC would count a second one.
    @Test func `no other KDC is tried after a preferred KDC that fails after its first reply`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { real in
            try await withForgetfulRelay(to: real.kdcPort) { relay in
                try await withDNS(preferred: ["127.0.0.1:\(relay)"], record: { "SRV _kerberos._tcp.EXAMPLE.TEST localhost \($0.kdcPort)" })
                {
                    station,
                    environment in
                    let login = try await station.ksso(
                        "login",
                        "alice",
                        "--password-stdin",
                        "-v",
                        input: "wrong\n",
                        environment: environment
                    )
                    #expect(login.exitStatus == 6 && !login.errors.contains("DNS"), "\(login)")
                    #expect(try await station.realm.failedAttempts(of: "alice") == 0)
                }
            }
        }
    }

    /// The doctor looks up several names at once, which nss_wrapper does not support.
    @Test(.enabled(if: PrivateMounts.arePossible, "\(PrivateMounts.reason)"))
    func `the doctor checks the KDCs that a sign-in would use`() async throws {
        try await withDNS(preferred: ["127.0.0.1:1"], record: { "SRV _kerberos._tcp.EXAMPLE.TEST localhost \($0.kdcPort)" }) {
            station,
            environment in
            _ = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
            let own = ["LD_PRELOAD": try #require(LoadableLibrary.resolver).path]
            let hosts = try station.write("127.0.0.1 localhost localhost.\n", to: "hosts.doctor")
            let diagnosis = try await station.doctor(environment: environment.merging(own) { $1 }) {
                PrivateMounts.command(#"mount --bind "$1" /etc/hosts; shift; exec "$@""#, [hosts] + $0)
            }
            #expect(diagnosis.isHealthy, "\(diagnosis)")
            #expect(diagnosis.checks.filter { $0.name == "kdc" }.map(\.verdict).contains(.warning), "the preferred KDC is down")
            let dns = try #require(diagnosis.checks.first { $0.name == "dns" })
            #expect(dns.detail == "after 127.0.0.1:1, DNS lists the KDCs of EXAMPLE.TEST: localhost:\(station.realm.kdcPort).")
        }
    }

    @Test func `DNS is not queried if a preferred KDC responds`() async throws {
        try await withTestRealm(users: ["alice": "secret"]) { real in
            try await withDNS(preferred: ["127.0.0.1:\(real.kdcPort)"], record: { _ in "SRV _kerberos._tcp.EXAMPLE.TEST localhost 1" }) {
                station,
                environment in
                let login = try await station.ksso("login", "alice", "--password-stdin", "-v", input: "secret\n", environment: environment)
                #expect(login.exitStatus == 0 && !login.errors.contains("DNS"), "\(login)")
            }
        }
    }

    @Test func `the error mentions DNS if no KDC of the profile or of DNS responds`() async throws {
        try await withDNS(preferred: ["127.0.0.1:1"], record: { _ in "SRV _kerberos._tcp.EXAMPLE.TEST localhost 1" }) {
            station,
            environment in
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
            #expect(login.exitStatus == 6 && login.errors.contains("DNS lists no other KDC that answers."), "\(login)")
        }
    }

    @Test(.enabled(if: !LibraryPlugin.tls.isInstalled, "krb5-k5tls is installed"))
    func `a KDC proxy without the TLS plugin is reported with the package to install`() async throws {
        try await withDNS(preferred: ["kkdcp://127.0.0.1:1/kdc"], record: { _ in "A nothing.test 127.0.0.1" }) { station, environment in
            let login = try await station.ksso("login", "alice", "--password-stdin", input: "secret\n", environment: environment)
            #expect(login.exitStatus == 6 && login.errors.contains("install krb5-k5tls"), "\(login)")
        }
    }
}
