import Foundation
import KerberosTesting
import KerberosTestingTraits
import SignOnDiagnosis
import TestSupport
import Testing

/// `ksso doctor NAME`: a name without a scheme is a host or a realm.
@Suite(.testRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]))
struct DoctorTargetTests {
    let station: Workstation

    init() throws {
        station = try Workstation()
        try station.install(profile(hosts: ["localhost"]))
    }

    private func detail(_ name: String, _ diagnosis: Diagnosis) -> String? { diagnosis.checks.first { $0.name == name }?.detail }

    /// No server listens at this port.
    @Test(arguments: ["localhost", "LocalHost", "localhost:9", "localhost/page?a=b", "localhost:9/page"])
    func `a host without a scheme is checked over https`(target: String) async throws {
        let diagnosis = try await station.doctor(target)
        #expect(detail("host", diagnosis)?.hasPrefix("localhost is covered by “localhost”") == true, "\(diagnosis)")
        let challenge = try #require(diagnosis.checks.first { $0.name == "challenge" })
        #expect(challenge.remedy?.contains("curl -v https://localhost") == true, "\(challenge)")
    }

    @Test(arguments: ["EXAMPLE.TEST", "example.test", "Example.Test", "C=US/O=Corp", "OTHER.TEST"])
    func `a known realm in any spelling, and a name in upper case, is a realm`(target: String) async throws {
        let diagnosis = try await station.doctor(target)
        #expect(detail("host", diagnosis) == nil, "\(diagnosis)")
        let realm = target.contains("xample") ? "EXAMPLE.TEST" : target
        #expect(detail("configuration", diagnosis)?.hasSuffix("the realm is \(realm).") == true, "\(diagnosis)")
    }

    /// Without a default realm, the URL leads to one.
    @Test func `profiles of two realms are no failure if one covers the host`() async throws {
        try station.install(profile(hosts: ["other.example"], realm: "OTHER.TEST"), as: "other.yaml")
        let text = try String(contentsOfFile: station.realm.configurationPath, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.contains("default_realm") }.joined(separator: "\n")
        let environment = ["KRB5_CONFIG": try station.write(lines, to: "krb5.conf")]
        let covered = try await station.doctor("https://localhost:9/", environment: environment)
        #expect(detail("configuration", covered)?.hasSuffix("the realm is EXAMPLE.TEST.") == true, "\(covered)")
        let first = try #require(try await station.doctor(environment: environment).firstFailure)
        #expect(first.name == "configuration" && first.detail.contains("none has isDefaultRealm"), "\(first)")
    }

    /// The profile covers a host with the realm's name.
    @Test(arguments: [("example.test", true), ("EXAMPLE.TEST", false)])
    func `a realm's name in lower case is the host that a rule covers`(target: String, isHost: Bool) async throws {
        try station.install(profile(hosts: ["example.test"]))
        let diagnosis = try await station.doctor(target)
        #expect((detail("host", diagnosis) != nil) == isHost, "\(diagnosis)")
    }

    @Test func `a host that no rule covers is reported with the way to check a realm`() async throws {
        let first = try #require(try await station.doctor("intranet.corp.example").firstFailure)
        #expect(first.name == "host" && first.detail.hasPrefix("intranet.corp.example is not answered: "), "\(first)")
        #expect(first.remedy?.hasSuffix("write it in upper case: ksso doctor INTRANET.CORP.EXAMPLE") == true, "\(first)")
    }

    @Test(arguments: ["localhost:9", "http://localhost:9/"])
    func `a proxy of the profile is reported with the command for proxies`(target: String) async throws {
        try station.install(profile(hosts: ["localhost"]) + "ProxyServers: [\"localhost:9\"]\n")
        let first = try #require(try await station.doctor(target).firstFailure)
        #expect(first.name == "host", "\(first)")
        #expect(first.detail == "localhost:9 is a proxy of the profile (ProxyServers), not a web server.")
        #expect(first.remedy?.contains("ksso explain --proxy localhost:9\n") == true, "\(first)")
    }

    @Test func `a principal is a usage error with the command for its realm`() async throws {
        let result = try await station.ksso("doctor", "alice@EXAMPLE.TEST")
        let line = "alice@EXAMPLE.TEST is a principal. To check its realm, run: ksso doctor EXAMPLE.TEST"
        #expect(result == .failure(64, line))
    }
}
