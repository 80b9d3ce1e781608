public import ArgumentParser
internal import Foundation

/// What libdispatch writes to the system's log.
///
/// Swift gives the tasks of a command a high priority. Without the right to raise a thread's priority, libdispatch works all the same, and
/// logs it at each start as a failure that an administrator has to look up.
enum DispatchLog {
    private static let variable = "LIBDISPATCH_LOG"
    /// What the process was started with.
    private static let given = ProcessInfo.processInfo.environment[variable]

    /// Turns the log off, unless the user has set the variable. Before the first task.
    static func silence() { if given == nil { setenv(variable, "NO", 1) } }

    /// Gives a program that takes this one's place the variable as it was.
    static func restore(in environment: inout [String: String]) { environment[variable] = given }
}

/// The `ksso` command: sign in once, and the hosts that the organisation names are signed in.
public struct KSSOCommand: AsyncParsableCommand {
    /// What `ksso --help` prints.
    public static let configuration = CommandConfiguration(
        commandName: "ksso",
        abstract: "Sign in once; the hosts that your organisation names are signed in.",
        discussion:
            "Exit status: 0 done, 1 failed, 3 no rule covers the host, 4 would have to ask and may not, 5 not signed in, 6 the KDC can't be reached, 64 usage, 130 canceled.",
        version: "0.1.0",
        subcommands: [
            Setup.self, Login.self, Logout.self, Refresh.self, Switch.self, Passwd.self, Status.self, Explain.self, Header.self, Fetch.self,
            Exec.self, Env.self, ConfigureCommand.self, DoctorCommand.self, AgentCommand.self,
            ProfileCommand.self, RealmCommand.self, CacheKeeper.self,
        ]
    )

    /// Made by the argument parser.
    public init() {}

    /// Else the tickets would be elsewhere than the user thinks, and nothing would say so.
    private static func warnOfRelativeRuntimeDirectory() {
        guard let named = ProcessInfo.processInfo.environment["KSSO_RUNTIME_DIR"], !named.isEmpty, !named.hasPrefix("/") else { return }
        Console.report("warning: KSSO_RUNTIME_DIR is “\(named)”, which is no path from the root on: it is passed over.")
    }

    /// Sets up what must be there before the process has a second thread. Call it before the first `await`.
    public static func prepareProcess() { DispatchLog.silence() }

    /// Parses the arguments, runs the command, and ends the process with the status that the command line contract names.
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
        // At once: libkrb5 takes its locks down at exit, and a call that nobody waits for any more may still be inside it.
        fflush(nil)
        _exit(status.rawValue)
    }
}
