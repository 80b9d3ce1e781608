import BenchmarkSupport
import Foundation
import KerberosTesting

/// A realm with alice's tickets in a FILE cache, an empty server, and the program whose agent is measured.
struct Bench: Sendable {
    let ksso: String
    let realm: TestRealm
    let floor: FloorServer

    var service: String { "HTTP/localhost@\(realm.name)" }
    /// The cache with the real tickets.
    var source: String { "FILE:\(realm.directory)/ccache" }

    nonisolated(nonsending) static func with(ksso: String, _ body: nonisolated(nonsending) (Bench) async throws -> Void) async throws {
        try await withTestRealm(users: ["alice": "secret"], services: ["HTTP/localhost"]) { realm in
            let floor = try await FloorServer.start(path: "\(realm.directory)/floor.sock")
            let bench = Bench(ksso: ksso, realm: realm, floor: floor)
            _ = try await bench.run("kinit", ["-c", bench.source, "alice"], input: "secret\n")
            _ = try await bench.run("kvno", ["-c", bench.source, bench.service])
            try await body(bench)
            try await floor.stop()
        }
    }

    /// Runs a program in the realm and returns its output; throws its error output if it fails.
    func run(_ executable: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil) async throws -> String
    {
        let result = try await realm.run(executable, arguments, environment: environment, input: input)
        guard result.exitStatus == 0 else {
            throw Unavailable(reason: "\(executable) exited with \(result.exitStatus): \(result.errors.suffix(300))")
        }
        return result.output
    }
}
