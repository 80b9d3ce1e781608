internal import ArgumentParser
internal import Foundation
internal import KerberosSSO

struct Exec: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a command that shares the tickets: KRB5_CONFIG and KRB5CCNAME are set for it.",
        usage: "ksso exec [--profile <file>] -- COMMAND…"
    )

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if command.isEmpty { throw ValidationError("Say what to run: ksso exec -- COMMAND…") }
    }

    func run() async throws {
        try await common.run { sso in
            var environment = ProcessInfo.processInfo.environment
            for (name, value) in try await KerberosEnvironment(sso, environment: environment).variables { environment[name] = value }
            throw replaceProcess(command, environment: environment)
        }
    }

    /// Becomes the command; returns only if that fails.
    private func replaceProcess(_ command: [String], environment: [String: String]) -> CommandFailure {
        var reason = ENOENT
        for path in Self.candidates(for: command[0], path: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin") {
            let code = ProcessReplacement(path: path, arguments: command, environment: environment).begin()
            if access(path, F_OK) == 0 { reason = code }  // a folder of PATH that is closed to the user says nothing of the program
        }
        let status = ExitStatus(rawValue: reason == ENOENT ? 127 : 126)
        return CommandFailure(status, "\(command[0]): \(String(cString: strerror(reason)))")
    }

    private static func candidates(for program: String, path: String) -> [String] {
        if program.contains("/") { return [program] }
        return path.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? program : "\($0)/\(program)" }
    }
}
