import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// A machine that resolves no names, such as one without a network, and one that does not know the organization's names.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct DoctorOfflineTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(hosts: ["www.corp.example"]))
    }

    /// Runs a command without a network, but with a name server in resolv.conf.
    private func offline(_ command: [String]) -> [String] {
        let script = """
            printf 'nameserver 192.0.2.1\\n' > "$1"
            mount --bind "$1" /etc/resolv.conf
            shift
            exec unshare --net "$@"
            """
        return PrivateMounts.command(script, ["\(station.directory)/resolv.conf"] + command)
    }

    private func configuration(_ text: String) throws -> [String: String] {
        ["KRB5_CONFIG": try station.write("[libdefaults]\n default_realm = EXAMPLE.TEST\n\(text)", to: "own.conf")]
    }

    private static let remedy =
        "Connect to the network or the VPN. If the machine is connected, check the name servers in /etc/resolv.conf."

    private static let unresolved = "this machine resolves no names, not even the KDCs of EXAMPLE.TEST: kdc1.corp.example:88 (krb5.conf), "
    private static let centers = "[realms]\n EXAMPLE.TEST = {\n kdc = kdc1.corp.example\n kdc = kdc2.corp.example:750\n }\n"

    @Test(
        .enabled(if: PrivateMounts.arePossible, "\(PrivateMounts.reason)"),
        arguments: [
            ([], centers, "kdc", "\(unresolved)kdc2.corp.example:750 (krb5.conf)."),
            ([], " dns_lookup_kdc = true\n", "dns", "this machine resolves no names, so the KDCs of EXAMPLE.TEST are unknown."),
            (["https://www.corp.example/"], centers, "name", "www.corp.example: this machine resolves no names."),
        ] as [([String], String, String, String)]
    )
    func `if no name resolves, the remedy is to connect, not to correct krb5.conf`(
        arguments: [String],
        text: String,
        check: String,
        detail: String
    ) async throws {
        let command = ["ksso", "doctor", "--json"] + arguments
        let result = try await station.run(offline(command), environment: configuration(text))
        let diagnosis = try JSONDecoder().decode(Diagnosis.self, from: Data(result.output.utf8))
        let first = try #require(diagnosis.firstFailure)
        #expect(first.name == check && first.detail.hasPrefix(detail), "\(diagnosis)")
        #expect(first.remedy == Self.remedy)
        #expect(diagnosis.checks.count { $0.name == "kdc" } <= 1, "\(diagnosis)")
    }

    /// The name does not exist, as the name server of another network answers.
    @Test(.enabled(if: PrivateMounts.arePossible, "\(PrivateMounts.reason)"))
    func `a KDC whose name does not resolve is reported with the VPN first`() async throws {
        let services = try station.write("hosts: files\n", to: "nsswitch.conf")
        let diagnosis = try await station.doctor(environment: try configuration(Self.centers)) {
            PrivateMounts.command(#"mount --bind "$1" /etc/nsswitch.conf; shift; exec "$@""#, [services] + $0)
        }
        let first = try #require(diagnosis.firstFailure)
        #expect(first.name == "kdc" && first.detail == "KDC kdc1.corp.example:88 (krb5.conf): its name does not resolve.", "\(first)")
        let lines = first.remedy?.components(separatedBy: "\n    ")
        #expect(
            lines == [
                "Connect to the network or the VPN that resolves the name: getent hosts kdc1.corp.example",
                "If it resolves nowhere, correct the name in krb5.conf.",
            ]
        )
    }
}
