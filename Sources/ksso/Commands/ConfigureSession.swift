internal import ArgumentParser
internal import CommandSupport
internal import Foundation

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
