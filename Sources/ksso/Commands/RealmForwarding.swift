internal import ArgumentParser
internal import CommandSupport
internal import Foundation

/// `ksso realm`, which executes the separate program `ksso-realm`, so that `ksso` contains no test kit.
struct RealmForwarding: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realm",
        abstract: "Run a private KDC for tests, and control it (package ksso-realm)."
    )

    private static let program = "ksso-realm"

    /// All arguments, including the options for help, because they belong to the other program.
    @Argument(parsing: .captureForPassthrough, help: "The arguments of ksso-realm.", completion: .custom(Self.completions))
    var arguments: [String] = []

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        let files = [OwnProgram.sibling(Self.program)] + ProgramSearch(path: environment["PATH"]).candidates(for: Self.program)
        let reason = ProgramSearch.become(files, [Self.program] + arguments, environment: environment)
        let message =
            reason == ENOENT
            ? "\(Self.program) is not installed: to use ksso realm, install the package \(Self.program)."
            : "\(Self.program): \(String(cString: strerror(reason)))"
        throw CommandFailure(.notStarted(reason), message)
    }

    /// Rewrites `help realm …` to `realm help …`, because only the other program has the help.
    static func routingHelp(_ arguments: [String]) -> [String] {
        guard arguments.starts(with: ["help", "realm"]) else { return arguments }
        return ["realm", "help"] + arguments.dropFirst(2)
    }

    /// Completes the first word with a subcommand.
    @Sendable private static func completions(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        index == 2 ? ["run", "fault", "kdc", "clock"] : []
    }
}
