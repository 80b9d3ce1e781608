internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import SystemSupport

/// The `ksso` command: sign in once, and the organization's hosts accept your tickets.
struct KSSOCommand: AsyncParsableCommand {
    /// What `ksso --help` prints.
    static let configuration = CommandConfiguration(
        commandName: "ksso",
        abstract: "Sign in once with Kerberos, and be signed in to the hosts that your organization's profile lists.",
        discussion: """
            Exit status: 0 success, 1 failure, 3 no rule covers the host, 4 input is required but prompting is not possible, 5 not signed \
            in, 6 the KDC cannot be reached, 64 usage error, 130 canceled.

            EXAMPLES:
              ksso login
              ksso fetch https://intranet.corp.example/
            """,
        version: ProgramVersion.current,
        subcommands: [
            Setup.self, Login.self, Logout.self, Refresh.self, Switch.self, Passwd.self, Status.self, Explain.self, Header.self, Fetch.self,
            Exec.self, Env.self, ConfigureCommand.self, DoctorCommand.self, AgentCommand.self,
            ProxyCommand.self, ProfileCommand.self, RealmForwarding.self, CacheKeeper.self,
        ]
    )

    /// Warns about a relative KSSO_RUNTIME_DIR, because the tickets would silently be in another place than the user expects.
    private static func warnOfRelativeRuntimeDirectory() {
        guard let named = EnvironmentVariable.value(of: "KSSO_RUNTIME_DIR"), !named.isEmpty, !named.hasPrefix("/") else { return }
        Console.report("warning: KSSO_RUNTIME_DIR is “\(named)”, which is not an absolute path: it is ignored.")
    }

    /// Prepares the process while it has only one thread. Call it before the first `await`.
    static func prepareProcess() { DispatchLog.silence() }

    /// Parses the arguments, runs the command, and exits with its status.
    static func run() async -> Never {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let script = CompletionScript(arguments: arguments) {
            Console.write(Data("\(script.text)\n".utf8), to: .standardOutput)
            _exit(ExitStatus.done.rawValue)
        }
        await runProgram(RealmForwarding.routingHelp(arguments), prepare: warnOfRelativeRuntimeDirectory)
    }
}
