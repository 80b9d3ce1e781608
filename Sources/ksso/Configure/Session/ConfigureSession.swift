internal import ArgumentParser
internal import CommandSupport
internal import Foundation

struct ConfigureSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Configure the session so that all its programs share the agent's tickets.",
        discussion: """
            Prints the required files. --install writes them, and starts the agent with the session: through systemd if it manages user \
            services, otherwise from the shell's profile. Existing lines of these files are kept. Log in again afterwards. --uninstall \
            removes what --install wrote, and nothing else.

            \(SharingLimits.text)

            EXAMPLES:
              ksso configure session --install
              ksso configure session --check
              ksso configure session --uninstall
            """
    )

    @Flag(help: "Write the files.")
    var install = false
    @Flag(help: "Print what is missing; exit with status 1 if something is.")
    var check = false
    @Flag(help: "Remove the lines and files that --install wrote.")
    var uninstall = false

    func validate() throws {
        if [install, check, uninstall].count(where: \.self) > 1 {
            throw ValidationError("--install, --check and --uninstall are mutually exclusive.")
        }
    }

    func run() async throws {
        let setUp = await SessionSetUp(environment: ProcessInfo.processInfo.environment)
        if check { return try report(await SessionCheck(setUp).results()) }
        if install { return try await setUp.install() }
        if uninstall {
            if try await !setUp.uninstall() { Console.print("The session is not configured; nothing was removed.") }
            return
        }
        for file in [setUp.environmentFile, setUp.profile] {
            Console.print("# \(file.path)")
            Console.print(lines: file.text)
        }
        for note in SharingLimits(environment: setUp.environment).notes { Console.print("# \(note)") }
    }

    private func report(_ results: [SessionCheck.Result]) throws(CommandFailure) {
        for result in results { Console.print("\(result.isGood ? "ok" : "missing"): \(result.text)") }
        if results.contains(where: { !$0.isGood }) { throw CommandFailure(.failed) }
    }
}
