import Foundation
import KerberosTesting
import Testing

/// Where the realms of `ksso realm run` have their folders: open to the web server's account, which a folder of the suite's own realm is
/// not.
final class RealmFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "ksso-realm-run-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// For a command that makes its realms here.
    var environment: [String: String] { ["TMPDIR": path] }

    /// The folders that are left.
    var contents: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
    }

    /// Runs a script in a realm; nothing is left of it then.
    func run(_ arguments: [String], script: String, on station: Workstation) async throws -> CommandResult {
        let command = ["ksso", "realm", "run"] + arguments + ["--", "bash", "-euc", script]
        let result = try await station.run(command, environment: environment)
        #expect(try contents == [])
        return result
    }
}
