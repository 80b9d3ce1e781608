import Foundation
import HTTPNegotiate
import Testing

@testable import ExtensionProfile

/// The key of our own that says when tickets are got anew.
@Suite struct RenewalKeyTests {
    private static func data(_ line: String) -> Data {
        Data("\(profileText(realm: "EXAMPLE.TEST", hosts: "www.example.test"))\n\(line)\n".utf8)
    }

    @Test(arguments: [("RenewAtFraction: 0.5", 0.5), ("RenewAtFraction: 0.1", 0.1), ("RenewAtFraction: 95e-2", 0.95), ("", nil)])
    func `a payload says after which part of its life`(_ line: String, _ fraction: Double?) throws {
        let profile = try Profile(data: RenewalKeyTests.data(line), source: "a.yaml")
        #expect(profile.configurations.map(\.renewalFraction) == [fraction])
        #expect(!profile.report.hasErrors && !profile.report.hasWarnings, "\(profile.report)")
    }

    @Test(arguments: ["0", "0.09", "0.96", "1", "-0.5", "50"])
    func `what can't be meant refuses the file`(_ value: String) throws {
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: RenewalKeyTests.data("RenewAtFraction: \(value)"), source: "a.yaml")
        }
        #expect(error.code == .badValue && error.keyPath?.description == "RenewAtFraction")
        #expect(error.reason.contains("from 0.1 to 0.95"), "\(error)")
    }

    @Test func `a number it is`() throws {
        let error = try #require(throws: ProfileError.self) {
            try Profile(data: RenewalKeyTests.data("RenewAtFraction: half"), source: "a.yaml")
        }
        #expect(error.code == .wrongType && error.reason.contains("a number"), "\(error)")
    }

    @Test(arguments: [("A.TEST", 0.25), ("B.TEST", 0.5), ("C.TEST", nil), ("D.TEST", nil)])
    func `of several payloads for one realm the soonest counts`(_ realm: String, _ fraction: Double?) {
        let configurations = [("A.TEST", 0.75), ("A.TEST", 0.25), ("A.TEST", nil), ("B.TEST", 0.5), ("C.TEST", nil)].map {
            ExtensionConfiguration(realm: $0.0, renewalFraction: $0.1)
        }
        #expect(configurations.renewalTime(in: realm, lifetime: 36000) == (fraction.map { $0 * 36000 } ?? 24000))
    }

    /// A program that makes its own configuration is held to the same range: what is due at once would be got anew without end.
    @Test(arguments: [(0, 0.1), (-1, 0.1), (-.infinity, 0.1), (.infinity, 0.95), (1, 0.95), (.nan, nil)] as [(Double, Double?)])
    func `what can't be meant is the nearer end`(_ fraction: Double, _ meant: Double?) {
        let configurations = [fraction, nil].map { ExtensionConfiguration(realm: "A.TEST", renewalFraction: $0) }
        #expect(configurations.renewalTime(in: "A.TEST", lifetime: 36000) == (meant.map { $0 * 36000 } ?? 24000))
    }
}
