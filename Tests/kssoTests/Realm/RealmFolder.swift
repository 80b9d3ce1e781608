import Foundation
import KerberosTesting
import Testing

/// The folder in which `ksso realm run` creates its realms. The web server's account can read it, unlike the folder of the suite's own
/// realm.
final class RealmFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "ksso-realm-run-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The environment of a command that creates its realms here.
    var environment: [String: String] { ["TMPDIR": path] }

    /// The names of the files and folders that remain.
    var contents: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
    }

    /// Runs a script in a realm, and expects that the realm leaves nothing behind.
    func run(_ arguments: [String], script: String, on station: Workstation) async throws -> CommandResult {
        let command = ["ksso", "realm", "run"] + arguments + ["--", "bash", "-euc", script]
        let result = try await station.run(command, environment: environment)
        #expect(try contents == [])
        return result
    }
}
