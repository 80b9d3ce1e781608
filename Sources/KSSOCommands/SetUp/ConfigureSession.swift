internal import ArgumentParser
internal import Foundation
internal import KerberosSSO
internal import SSOAgentClient
internal import UnixSystem

struct ConfigureSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Set the session up, so that every program of it shares the agent's tickets.",
        discussion: """
            Prints the files that are needed; --install writes them, and starts the agent with the session: by systemd where it looks after users, \
            else from the shell's profile. What stands in these files already stays. Log in again afterwards.

            \(SessionSetUp.limits)
            """
    )

    @Flag(help: "Write the files.")
    var install = false
    @Flag(help: "Say what is missing; ends with 1 if something is.")
    var check = false

    func validate() throws {
        if install, check { throw ValidationError("--install and --check exclude each other.") }
    }

    func run() async throws {
        if install { try RealmControl.refuseInside() }
        let setUp = await SessionSetUp(environment: ProcessInfo.processInfo.environment)
        if check { return try report(await SessionCheck(setUp).results()) }
        if install { return try await write(setUp) }
        for file in [setUp.environmentFile, setUp.profile] {
            Console.print("# \(file.path)")
            Console.print(lines: file.text)
        }
        Console.print("# \(SessionSetUp.limits)")
    }

    private func write(_ setUp: SessionSetUp) async throws {
        for file in [setUp.environmentFile, setUp.profile] {
            Console.print("\(file.path): \(try file.install() ? "written" : "as it should be")")
        }
        if setUp.hasUnits {
            try await stopOtherAgent(setUp)
            guard await UserService.enable(SessionSetUp.unit) else {
                throw CommandFailure(
                    .failed,
                    "the agent's sockets can't be enabled. See: systemctl --user enable --now \(SessionSetUp.unit)"
                )
            }
            Console.print("\(SessionSetUp.unit): enabled")
        }
        Console.note("Log in again, and every program of the session shares the tickets. \(SessionSetUp.limits)")
    }

    /// Stops an agent that was started by hand, because it owns the sockets that systemd is about to bind.
    private func stopOtherAgent(_ setUp: SessionSetUp) async throws {
        // The units support only the default directory.
        var environment = setUp.environment
        environment["KSSO_RUNTIME_DIR"] = nil
        let runtime = RuntimeDirectory(environment: environment)
        guard PrivateDirectory(path: runtime.path).isTrusted, let listener = runtime.listener(at: .requests), listener.isAgent else {
            return
        }
        try await AgentStop.end(listener)
        Console.print("The agent (process \(listener.processID)) has stopped, so that systemd can start it. Its tickets are kept.")
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
        abstract: "Set other programs up to share the tickets: print, install or check what they need.",
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
            let text = "\(setUp.profile.path) calls \(program), which is not there: ksso configure session --install corrects it"
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
            let text = "KRB5CCNAME is \(name), which comes before the agent's caches: unset it, or see who sets it"
            results.append(Result(isGood: name.hasPrefix("KCM:"), text: text))
        }
        return results
    }
}
