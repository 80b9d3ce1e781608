package import ArgumentParser
internal import Foundation

extension AsyncParsableCommand {
    /// Runs the process's arguments as a command line, and ends the process with the status that the command line contract names.
    ///
    /// - Parameters:
    ///   - arguments: What to parse instead of the process's own arguments.
    ///   - prepare: What is done between parsing and running.
    package static func runProgram(_ arguments: [String]? = nil, prepare: () -> Void = {}) async -> Never {
        var status = ExitStatus.done
        do {
            var command = try parseAsRoot(arguments)
            prepare()
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
