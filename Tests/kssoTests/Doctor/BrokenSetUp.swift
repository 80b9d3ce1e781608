import Foundation
import KerberosTesting
import SignOnDiagnosis
import Testing

/// A set-up with one real fault, and the first failure that the doctor must report for it.
struct BrokenSetUp: Sendable, CustomTestStringConvertible {
    /// The fault.
    let cause: String
    /// The check that must fail first.
    let check: String
    /// The texts that the check's detail must contain.
    let words: [String]
    /// Why the fault cannot be created on this machine; nil if it can.
    var obstacle: String?
    /// Creates the fault and runs the doctor.
    let diagnose: @Sendable () async throws -> Diagnosis

    init(
        _ cause: String,
        failsAt check: String,
        naming words: String...,
        obstacle: String? = nil,
        diagnose: @escaping @Sendable () async throws -> Diagnosis
    ) {
        self.cause = cause
        self.check = check
        self.words = words
        self.obstacle = obstacle
        self.diagnose = diagnose
    }

    var testDescription: String { cause }

    static let all = profiles + realms + certificates + services + servers + caches

    static let possible = all.filter { $0.obstacle == nil }
}

extension BrokenSetUp {
    /// Runs a closure with a realm with alice and a station whose profile covers the hosts.
    static func withStation(
        _ options: TestRealmOptions = TestRealmOptions(users: ["alice": "secret"], services: ["HTTP/localhost"]),
        hosts: [String] = ["localhost"],
        signsIn: Bool = true,
        _ body: (Workstation) async throws -> Diagnosis
    ) async throws -> Diagnosis {
        try await withTestRealm(options) { realm in
            let station = try Workstation(realm: realm)
            try station.install(profile(hosts: hosts))
            if signsIn { try await station.signIn() }
            return try await body(station)
        }
    }
}

extension Workstation {
    /// Runs the doctor, and checks that its exit status matches its diagnosis.
    func doctor(
        _ arguments: String...,
        environment: [String: String] = [:],
        in command: ([String]) -> [String] = { $0 },
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Diagnosis {
        let result = try await run(command(["ksso", "doctor", "--json"] + arguments), environment: environment)
        let diagnosis = try #require(
            try? JSONDecoder().decode(Diagnosis.self, from: Data(result.output.utf8)),
            "\(result)",
            sourceLocation: sourceLocation
        )
        #expect(result.exitStatus == (diagnosis.isHealthy ? 0 : 1), sourceLocation: sourceLocation)
        #expect(result.errors == "", sourceLocation: sourceLocation)
        return diagnosis
    }
}
