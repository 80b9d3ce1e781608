import Foundation
import SignOnPolicy
import Testing

@testable import ExtensionProfile

/// `RenewAtFraction`, which sets when tickets are renewed.
@Suite struct RenewalKeyTests {
    private static func data(_ line: String) -> Data {
        Data("\(profileText(realm: "EXAMPLE.TEST", hosts: "www.example.test"))\n\(line)\n".utf8)
    }

    @Test(arguments: [("RenewAtFraction: 0.5", 0.5), ("RenewAtFraction: 0.1", 0.1), ("RenewAtFraction: 95e-2", 0.95), ("", nil)])
    func `RenewAtFraction sets the fraction of the lifetime after which a ticket is renewed`(_ line: String, _ fraction: Double?) throws {
        let profile = try Profile(data: RenewalKeyTests.data(line), source: "a.yaml")
        #expect(profile.configurations.map(\.renewalFraction) == [fraction])
        #expect(!profile.report.hasErrors && !profile.report.hasWarnings, "\(profile.report)")
    }

    @Test(arguments: ["0", "0.09", "0.96", "1", "-0.5", "50"])
    func `a RenewAtFraction out of range refuses the file`(_ value: String) throws {
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: RenewalKeyTests.data("RenewAtFraction: \(value)"), source: "a.yaml")
        }
        #expect(error.code == .badValue && error.keyPath?.description == "RenewAtFraction")
        #expect(error.reason.contains("from 0.1 to 0.95"), "\(error)")
    }

    @Test func `a RenewAtFraction that is not a number refuses the file`() throws {
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: RenewalKeyTests.data("RenewAtFraction: half"), source: "a.yaml")
        }
        #expect(error.code == .wrongType && error.reason.contains("a number"), "\(error)")
    }

    @Test(arguments: [("A.TEST", 0.25), ("B.TEST", 0.5), ("C.TEST", nil), ("D.TEST", nil)])
    func `the smallest RenewAtFraction of a realm's payloads is used`(_ realm: String, _ fraction: Double?) {
        let configurations = [("A.TEST", 0.75), ("A.TEST", 0.25), ("A.TEST", nil), ("B.TEST", 0.5), ("C.TEST", nil)].map {
            ExtensionConfiguration(realm: $0.0, renewalFraction: $0.1)
        }
        #expect(configurations.renewalTime(in: realm, lifetime: 36000) == (fraction.map { $0 * 36000 } ?? 24000))
    }

    /// The range also applies to a program's own configuration: a ticket due at once would be renewed endlessly.
    @Test(arguments: [(0, 0.1), (-1, 0.1), (-.infinity, 0.1), (.infinity, 0.95), (1, 0.95), (.nan, nil)] as [(Double, Double?)])
    func `a renewal fraction out of range is limited to the nearest bound`(_ fraction: Double, _ meant: Double?) {
        let configurations = [fraction, nil].map { ExtensionConfiguration(realm: "A.TEST", renewalFraction: $0) }
        #expect(configurations.renewalTime(in: "A.TEST", lifetime: 36000) == (meant.map { $0 * 36000 } ?? 24000))
    }
}
