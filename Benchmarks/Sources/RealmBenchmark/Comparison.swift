import BenchmarkSupport
import Foundation
import Kerberos
import KerberosTesting

/// One realm at a time, and eight concurrently. The rows take turns, so that a slow phase of the machine affects all of them.
struct Comparison {
    let k5test: Result<PythonEnvironment, Unavailable>

    private static let rounds = 15
    private static let atOnce = 8

    func run() async throws {
        var seconds = [String: [Double]]()
        for _ in 0..<Self.rounds {
            seconds["ours, first ticket in process", default: []].append(try await Self.realm { try await $0.signIn() })
            seconds["ours, first ticket by kinit", default: []].append(try await Self.realm { try await $0.kinit() })
            seconds["the programs alone, kinit", default: []].append(try await program("/bin/bash", [script("programs", "sh")]))
            guard let python = try? k5test.get().python else { continue }
            seconds["k5test, kinit", default: []].append(try await program(python, [script("k5realm", "py"), "1", "in-turn"]))
        }
        table("one realm, from nothing to the first ticket", seconds)
        seconds = [:]
        for _ in 0..<5 {
            seconds["ours, first ticket in process", default: []].append(try await Self.realms { try await $0.signIn() })
            seconds["ours, first ticket by kinit", default: []].append(try await Self.realms { try await $0.kinit() })
            guard let python = try? k5test.get().python else { continue }
            seconds["k5test, kinit", default: []].append(
                try await program(python, [script("k5realm", "py"), "\(Self.atOnce)", "at-once"])
            )
        }
        table("\(Self.atOnce) realms at once, until the last has its ticket", seconds)
        if case .failure(let reason) = k5test { report("k5test: not measured: \(reason)") }
    }

    private func table(_ title: String, _ seconds: [String: [Double]]) {
        report("\n\(title.padded(56)) median s    fastest    of k5test")
        let reference = seconds["k5test, kinit"]?.median
        for (name, values) in seconds.sorted(by: { $0.value.median < $1.value.median }) {
            let ratio = reference.map { String(format: "%.2f", values.median / $0) } ?? "-"
            BenchmarkRow(name, in: title, values, .seconds, ratios: ["k5test, kinit": reference.map { values.median / $0 }])?.record()
            report(
                name.padded(56) + String(format: "%.3f", values.median).rightAligned(9)
                    + String(format: "%.3f", values.min() ?? 0).rightAligned(11) + ratio.rightAligned(13)
            )
        }
    }

    /// The seconds that a peer printed.
    private func program(_ path: String, _ arguments: [String]) async throws -> Double {
        let output = try await PythonEnvironment.run(path, arguments)
        guard let seconds = Double(output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Unavailable(reason: "\(path) printed \(output.prefix(200))")
        }
        return seconds
    }

    private func script(_ name: String, _ type: String) -> String { Bundle.module.path(forResource: name, ofType: type) ?? name }

    private static func realm(_ ticket: @Sendable (TestRealm) async throws -> Void) async throws -> Double {
        let start = ContinuousClock.now
        return try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            try await ticket(realm)
            return (ContinuousClock.now - start) / .seconds(1)
        }
    }

    private static func realms(_ ticket: @escaping @Sendable (TestRealm) async throws -> Void) async throws -> Double {
        try await withThrowingTaskGroup(of: Double.self) { group in
            for _ in 0..<atOnce { group.addTask { try await realm(ticket) } }
            return try await group.reduce(0) { max($0, $1) }
        }
    }
}
