internal import CommandSupport
internal import Foundation
internal import SSOAgent
internal import Subprocess
internal import SystemPackage
internal import SystemSupport

/// The program of `ksso agent run --on-event`: started for each event, without a shell, in its own session.
///
/// No profile can name a program, so that the permission to install a profile does not include running programs.
struct EventProgram: Sendable {
    private let path: String
    private let limit: Duration
    private let environment: [String: String]

    /// The variables that service managers and the agent set for the agent only.
    private static let ownVariables: Set<String> = [
        "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC", "CREDENTIALS_DIRECTORY",
        "GLIBC_TUNABLES", "KSSO_LISTEN_FDS",
    ]

    /// - Parameters:
    ///   - path: The absolute path of the program.
    ///   - limit: The time limit of a run.
    ///   - environment: The agent's environment, with the variables for its caches.
    /// - Throws: `CommandFailure` if the file is not executable or another user could change it.
    init(path: String, limit: Duration, environment: [String: String]) throws(CommandFailure) {
        guard path.hasPrefix("/") else {
            throw CommandFailure(.usage, "--on-event \(path): the path must be absolute, because the program is started without a shell.")
        }
        guard let status = FileStatus(path: path) else {
            let reason = errno == ENOENT ? "there is no such program" : String(cString: strerror(errno))
            throw CommandFailure(.failed, "\(path): \(reason). Give --on-event the path of an executable program.")
        }
        guard status.isFile else {
            throw CommandFailure(.failed, "\(path): this is not a file. Give --on-event the path of an executable program.")
        }
        guard access(path, X_OK) == 0 else {
            throw CommandFailure(.failed, "\(path): the file is not executable. If it is the program, run: chmod u+x \(shellQuoted(path))")
        }
        guard FileTrust.resolveClosedToOthers(path) != nil else { throw CommandFailure(.failed, Self.distrust(path)) }
        self.path = path
        self.limit = limit
        self.environment = environment.filter { !Self.ownVariables.contains($0.key) }
    }

    private static func distrust(_ path: String) -> String {
        "\(path): other users can change this program, or a folder or link on its path. Give them to yourself or to root (chown), "
            + "and run chmod go-w on them."
    }

    /// Runs the program until it exits.
    ///
    /// - Returns: A description of the failure; nil if the program exited with status 0 or this task was canceled.
    func run(_ event: SessionEvent) async -> String? {
        // The file's owner or mode may have changed since the agent started.
        guard let program = FileTrust.resolveClosedToOthers(path) else { return Self.distrust(path) }
        let variables = environment.merging(event.variables) { $1 }.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let configuration = Subprocess.Configuration(
            executable: .path(FilePath(program)),
            // A program with several functions selects one by the name of the link.
            arguments: Arguments(executablePathOverride: path, remainingValues: []),
            environment: .custom(Dictionary(variables) { $1 }),
            platformOptions: Self.options
        )
        let end = await withTaskGroup(of: End?.self) { group in
            group.addTask {
                do {
                    // The program's standard error goes to the agent's log.
                    let run = try await Subprocess.run(configuration, input: .none, output: .discarded, error: .currentStandardError)
                    return .exited(run.terminationStatus)
                } catch {
                    return .notStarted("\(error)")
                }
            }
            group.addTask { [limit] in (try? await Task.sleep(for: limit)).map { .outOfTime } }
            let first = await group.next() ?? nil
            // This kills a program that is still running, and the group waits for its end.
            group.cancelAll()
            return first
        }
        guard !Task.isCancelled, let end else { return nil }
        switch end {
        case .exited(.exited(0)): return nil
        case .exited(.exited(let code)): return "\(path): the program of --on-event exited with status \(code)."
        case .exited(.signaled(let signal)): return "\(path): the program of --on-event was terminated by signal \(signal)."
        case .notStarted(let reason): return "\(path): the program of --on-event cannot be run: \(reason)"
        case .outOfTime:
            let time = quantity(limit.components.seconds, "second")
            return "\(path): the program of --on-event did not exit within \(time) and was killed with its children."
        }
    }

    private enum End: Sendable {
        case exited(TerminationStatus)
        case notStarted(String)
        case outOfTime
    }

    /// The program gets its own process group, which is killed as a whole while its leader exists, so that no child is left and no other
    /// process is killed.
    private static var options: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [.send(signal: .kill, toProcessGroup: true, allowedDurationToNextStep: .seconds(1))]
        return options
    }
}
