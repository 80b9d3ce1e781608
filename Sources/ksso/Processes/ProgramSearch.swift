internal import CommandSupport
internal import Foundation

/// The search for a program by its name, as execvp(3) searches.
struct ProgramSearch {
    /// The folders; an empty one is the current folder.
    let folders: [String]

    /// - Parameter path: The value of `PATH`; nil stands for the system's own folders.
    init(path: String?) {
        folders = (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    }

    /// The files that a name may mean, in the order in which they are tried. A name with a slash is a path.
    func candidates(for program: String) -> [String] {
        program.contains("/") ? [program] : folders.map { $0.isEmpty ? program : "\($0)/\(program)" }
    }

    /// Executes the program that the first word names; returns only if that fails.
    func becomeProgram(_ command: [String], environment: [String: String]) -> CommandFailure {
        let reason = Self.become(candidates(for: command[0]), command, environment: environment)
        return CommandFailure(.notStarted(reason), "\(command[0]): \(String(cString: strerror(reason)))")
    }

    /// Executes the first of the files that can be run; returns the reason if none can.
    static func become(_ files: [String], _ arguments: [String], environment: [String: String]) -> Int32 {
        var environment = environment
        DispatchLog.restore(in: &environment)
        var reason = ENOENT
        for path in files {
            let code = ProcessReplacement(path: path, arguments: arguments, environment: environment).begin()
            if access(path, F_OK) == 0 { reason = code }  // a folder of PATH that the user cannot enter says nothing about the program
        }
        return reason
    }
}

extension ExitStatus {
    /// The status that a shell gives for a program that it cannot start: 127 if it does not exist, else 126.
    static func notStarted(_ reason: Int32) -> ExitStatus { ExitStatus(rawValue: reason == ENOENT ? 127 : 126) }
}
