package import ArgumentParser
internal import Foundation
package import SystemSupport

extension AsyncParsableCommand {
    /// Runs the process's arguments as a command line, and exits with the documented status.
    ///
    /// - Parameters:
    ///   - arguments: What to parse instead of the process's own arguments.
    ///   - prepare: Called between parsing and running.
    package static func runProgram(_ arguments: [String]? = nil, prepare: () -> Void = {}) async -> Never {
        var status = ExitStatus.done
        do {
            var command = try await asyncParseAsRoot(arguments)
            prepare()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.report()
            status = failure.status
        } catch  where printVersion(requestedBy: error) {
        } catch {
            let message = ParserMessage(error, Self.self, arguments: arguments ?? Array(CommandLine.arguments.dropFirst()))
            message.show()
            status = message.status
        }
        // exit(3) would run libkrb5's cleanup, which destroys locks that an abandoned call may still hold.
        fflush(nil)
        _exit(status.rawValue)
    }
}

/// Controls what libdispatch writes to the system log.
///
/// Swift gives the tasks of a command a high priority. Without the permission to raise a thread's priority, libdispatch works nevertheless,
/// but logs this at each start as a failure.
package enum DispatchLog {
    private static let variable = "LIBDISPATCH_LOG"
    /// The value of the variable when the process started.
    private static let given = EnvironmentVariable.value(of: variable)

    /// Turns the log off, unless the user has set the variable. Call it before the first task.
    package static func silence() { if given == nil { setenv(variable, "NO", 1) } }

    /// Restores the original value of the variable for a program that this process executes.
    package static func restore(in environment: inout [String: String]) { environment[variable] = given }
}

extension EnclosingRealm {
    /// Throws inside a test realm, because the command would write the realm's temporary paths to the caller's home.
    package static func refuseInside(environment: [String: String] = ProcessInfo.processInfo.environment) throws(CommandFailure) {
        guard isInside(environment) else { return }
        let sentence =
            "this shell runs in a realm of ksso realm run, whose files are temporary, so your home is not configured for it. "
            + "ksso login works here; run this command outside the realm."
        throw CommandFailure(.failed, sentence)
    }
}
