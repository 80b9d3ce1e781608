public import ArgumentParser
internal import Foundation

/// Controls what libdispatch writes to the system log.
///
/// Swift gives the tasks of a command a high priority. Without the permission to raise a thread's priority, libdispatch works nevertheless,
/// but logs this at each start as a failure.
enum DispatchLog {
    private static let variable = "LIBDISPATCH_LOG"
    /// The value of the variable when the process started.
    private static let given = ProcessInfo.processInfo.environment[variable]

    /// Turns the log off, unless the user has set the variable. Call it before the first task.
    static func silence() { if given == nil { setenv(variable, "NO", 1) } }

    /// Restores the original value of the variable for a program that this process executes.
    static func restore(in environment: inout [String: String]) { environment[variable] = given }
}

/// The `ksso` command: sign in once, and the organization's hosts accept your tickets.
public struct KSSOCommand: AsyncParsableCommand {
    /// What `ksso --help` prints.
    public static let configuration = CommandConfiguration(
        commandName: "ksso",
        abstract: "Sign in once with Kerberos, and be signed in to the hosts that your organization's profile lists.",
        discussion: """
            Exit status: 0 success, 1 failure, 3 no rule covers the host, 4 input is required but prompting is not possible, 5 not signed in, \
            6 the KDC cannot be reached, 64 usage error, 130 canceled.

            EXAMPLES:
              ksso login
              ksso fetch https://intranet.corp.example/
            """,
        version: "0.1.0",
        subcommands: [
            Setup.self, Login.self, Logout.self, Refresh.self, Switch.self, Passwd.self, Status.self, Explain.self, Header.self, Fetch.self,
            Exec.self, Env.self, ConfigureCommand.self, DoctorCommand.self, AgentCommand.self,
            ProfileCommand.self, RealmCommand.self, CacheKeeper.self,
        ]
    )

    /// Made by the argument parser.
    public init() {}

    /// Warns about a relative KSSO_RUNTIME_DIR, because the tickets would silently be in another place than the user expects.
    private static func warnOfRelativeRuntimeDirectory() {
        guard let named = ProcessInfo.processInfo.environment["KSSO_RUNTIME_DIR"], !named.isEmpty, !named.hasPrefix("/") else { return }
        Console.report("warning: KSSO_RUNTIME_DIR is “\(named)”, which is not an absolute path: it is ignored.")
    }

    /// Prepares the process while it has only one thread. Call it before the first `await`.
    public static func prepareProcess() { DispatchLog.silence() }

    /// Parses the arguments, runs the command, and exits with its status.
    public static func run() async -> Never {
        var status = ExitStatus.done
        do {
            var command = try parseAsRoot()
            warnOfRelativeRuntimeDirectory()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.report()
            status = failure.status
        } catch {
            exit(withError: error)
        }
        // Exits without cleanup, because libkrb5 destroys its locks at exit while an abandoned call may still use them.
        fflush(nil)
        _exit(status.rawValue)
    }
}
