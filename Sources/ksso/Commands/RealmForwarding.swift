internal import ArgumentParser
internal import CommandSupport
internal import Foundation

/// `ksso realm`, which executes the separate program `ksso-realm`, so that `ksso` contains no test kit.
struct RealmForwarding: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "realm",
        abstract: "Run a private KDC for tests, and control it (package ksso-realm)."
    )

    private static let program = "ksso-realm"

    /// All arguments, including the options for help, because they belong to the other program.
    @Argument(parsing: .captureForPassthrough, help: "The arguments of ksso-realm.", completion: .custom(Self.completions))
    var arguments: [String] = []

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let reason = ProgramSearch.become(Self.files(environment), [Self.program] + arguments, environment: environment)
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

    /// The files that may be the program, in the order in which they are tried.
    private static func files(_ environment: [String: String]) -> [String] {
        [OwnProgram.sibling(program)] + ProgramSearch(path: environment["PATH"]).candidates(for: program)
    }

    @Sendable private static func completions(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        let file = files(ProcessInfo.processInfo.environment).first(where: OwnProgram.isExecutable)
        guard let file, let program = await RealmCompletions(of: file) else { return [] }
        let word = index < words.count ? words[index] : prefix
        let realms = await CompletionNames.enclosingRealms()
        let candidates = program.candidates(after: Array(words.prefix(index).dropFirst(2)), word: word, realms: realms)
        return CompletionCandidates.format(candidates, areFiles: true)
    }
}
