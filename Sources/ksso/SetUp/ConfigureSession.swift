internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import KerberosSSO
internal import SSOAgentClient
internal import SystemSupport

struct ConfigureSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Configure the session so that all its programs share the agent's tickets.",
        discussion: """
            Prints the required files. --install writes them, and starts the agent with the session: through systemd if it manages user \
            services, otherwise from the shell's profile. Existing lines of these files are kept. Log in again afterwards.

            \(SessionSetUp.limits)

            EXAMPLES:
              ksso configure session --install
              ksso configure session --check
            """
    )

    @Flag(help: "Write the files.")
    var install = false
    @Flag(help: "Print what is missing; exit with status 1 if something is.")
    var check = false

    func validate() throws {
        if install, check { throw ValidationError("--install and --check are mutually exclusive.") }
    }

    func run() async throws {
        let setUp = await SessionSetUp(environment: ProcessInfo.processInfo.environment)
        if check { return try report(await SessionCheck(setUp).results()) }
        if install { return try await setUp.install() }
        for file in [setUp.environmentFile, setUp.profile] {
            Console.print("# \(file.path)")
            Console.print(lines: file.text)
        }
        Console.print("# \(SessionSetUp.limits)")
    }

    private func report(_ results: [SessionCheck.Result]) throws(CommandFailure) {
        for result in results { Console.print("\(result.isGood ? "ok" : "missing"): \(result.text)") }
        if results.contains(where: { !$0.isGood }) { throw CommandFailure(.failed) }
    }
}

/// `ksso configure`: configures other programs so that they share the tickets.
struct ConfigureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "configure",
        abstract: "Configure other programs to share the tickets: print, install or check the required files.",
        discussion: """
            EXAMPLES:
              ksso configure session --install
            """,
        subcommands: [ConfigureSession.self]
    )
}

/// Checks whether the session's configuration is complete, and active in this process.
struct SessionCheck {
    struct Result {
        let isGood: Bool
        let text: String
    }

    let setUp: SessionSetUp

    init(_ setUp: SessionSetUp) { self.setUp = setUp }

    private func result(of file: SessionFile, isInstalled: Bool) -> Result {
        Result(isGood: isInstalled, text: "\(file.path)\(isInstalled ? "" : ": ksso configure session --install writes it")")
    }

    /// Another path of the program is acceptable as long as it is executable.
    private func profileResult() -> Result {
        guard let program = setUp.calledProgram else { return result(of: setUp.profile, isInstalled: setUp.profile.isInstalled) }
        if program.hasPrefix("/"), !OwnProgram.isExecutable(program) {
            let text = "\(setUp.profile.path) calls \(program), which does not exist: ksso configure session --install fixes it"
            return Result(isGood: false, text: text)
        }
        let accepted = program.hasPrefix("/") ? setUp.profile(calling: program) : setUp.profile
        return result(of: setUp.profile, isInstalled: accepted.isInstalled)
    }

    private func agentResult(_ runtime: RuntimeDirectory) async -> Result {
        guard runtime.isServed else { return Result(isGood: false, text: "an agent: ksso agent run --background") }
        if let listener = await RunningAgent(runtime).silent() {
            return Result(isGood: false, text: "an agent that answers: \(listener.silence)")
        }
        if let loss = await runtime.cacheLoss() {
            return Result(isGood: false, text: "an agent whose tickets programs can reach: \(loss.fault). \(loss.remedy)")
        }
        return Result(isGood: true, text: "an agent serves in \(runtime.path)")
    }

    func results() async -> [Result] {
        let runtime = RuntimeDirectory(environment: setUp.environment)
        let names = (setUp.environment["KRB5_CONFIG"] ?? "").split(separator: ":")
        var results = [result(of: setUp.environmentFile, isInstalled: setUp.environmentFile.isInstalled), profileResult()]
        results.append(await agentResult(runtime))
        let isNamed = names.contains { $0 == runtime.sessionConfiguration }
        results.append(Result(isGood: isNamed, text: "\(runtime.sessionConfiguration) in KRB5_CONFIG\(isNamed ? "" : ": log in again")"))
        if let name = setUp.environment["KRB5CCNAME"] {
            let text = "KRB5CCNAME is \(name), which overrides the agent's caches: unset it, or find what sets it"
            results.append(Result(isGood: name.hasPrefix("KCM:"), text: text))
        }
        return results
    }
}
