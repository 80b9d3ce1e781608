import KerberosTesting
import SignOnDiagnosis
import SignOnPolicy
import TestSupport
import Testing

/// `ksso doctor` with a profile that uses libkrb5's default credential.
struct DoctorCredentialTests {
    /// The realm of the profile is unreachable, which does not matter here.
    @Test(arguments: [[], ["http://localhost:1/"]])
    func `the doctor checks the realm of the default credential`(arguments: [String]) async throws {
        let second = TestRealmOptions(name: "B.TEST", users: ["bob": "secret"])
        try await withTrustedRealms(.init(name: "A.TEST"), second) { first, _ in
            let station = try Workstation(realm: first)
            let text = profile(realm: "A.TEST", data: ["isDefaultRealm: true"])
            try station.install(text.replacing("credentialUseMode: always", with: "credentialUseMode: kerberosDefault"))
            #expect(try await station.run(["kinit", "bob@B.TEST"], input: "secret\n").exitStatus == 0)
            try await first.stopKDC()
            let checks = arguments.isEmpty ? try await station.doctor().checks : try await station.doctor(arguments[0]).checks
            let details = Dictionary(checks.map { ($0.name, $0) }) { first, _ in first }
            #expect(details[arguments.isEmpty ? "configuration" : "host"]?.detail.contains("bob@B.TEST") == true, "\(checks)")
            #expect(details["dns"]?.detail.contains("B.TEST") == true, "\(checks)")
            #expect(details["account"]?.detail == "the KDC knows bob@B.TEST.", "\(checks)")
            #expect(details["session"]?.detail.hasPrefix("bob@B.TEST is signed in") == true, "\(checks)")
            #expect(checks.filter { ["kdc", "clock"].contains($0.name) }.allSatisfy { $0.verdict != .failed }, "\(checks)")
            // A realm on the command line takes precedence.
            let explicit = try await station.doctor("A.TEST").checks
            #expect(explicit.contains { $0.name == "kdc" && $0.verdict == .failed }, "\(explicit)")
        }
    }
}
