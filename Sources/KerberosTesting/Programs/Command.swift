import Foundation
import Subprocess
import SystemPackage

/// Runs programs until they exit.
enum Command {
    private static let outputLimit = 4 * 1024 * 1024

    /// The result of one of the two tasks: the run and its deadline.
    private enum Outcome: Sendable {
        case ended(CommandResult)
        case timedOut
        /// The run finished first, or the task was canceled.
        case notReached
    }

    /// Runs a program and collects its output.
    ///
    /// - Parameters:
    ///   - scratch: A private folder for the input file.
    ///   - deadline: How long the program may run before it is killed, so that a program that hangs fails its test instead of blocking the
    ///     run.
    static func run(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String],
        input: String?,
        scratch: String,
        deadline: Duration = .seconds(600)
    ) async throws -> CommandResult {
        let path = try Program.path(of: executable, environment: environment)
        let values = environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let configuration = Subprocess.Configuration(
            executable: .path(FilePath(path)),
            arguments: Arguments(arguments),
            environment: .custom(Dictionary(values) { $1 })
        )
        let descriptor = try input.map { try inputFile(holding: $0, in: scratch) }
        return try await withThrowingTaskGroup(of: Outcome.self) { group in
            group.addTask { .ended(try await collect(configuration, input: descriptor)) }
            group.addTask {
                do { try await Task.sleep(for: deadline) } catch { return .notReached }
                return .timedOut
            }
            // Cancels the other task; canceling the run kills the program.
            defer { group.cancelAll() }
            while let outcome = try await group.next() {
                switch outcome {
                case .ended(let result): return result
                case .timedOut:
                    let words = ([executable] + arguments).joined(separator: " ")
                    throw KerberosTestingError(.commandFailed, "\(words) did not exit within \(deadline) and was killed.")
                case .notReached: continue
                }
            }
            throw CancellationError()
        }
    }

    private static func collect(_ configuration: Subprocess.Configuration, input: FileDescriptor?) async throws -> CommandResult {
        let output: StringOutput<UTF8> = .string(limit: outputLimit)
        guard let input else {
            let outcome = try await Subprocess.run(configuration, input: .none, output: output, error: output)
            return CommandResult(outcome.terminationStatus, outcome.standardOutput, outcome.standardError)
        }
        let outcome = try await Subprocess.run(
            configuration,
            input: .fileDescriptor(input, closeAfterSpawningProcess: true),
            output: output,
            error: output
        )
        return CommandResult(outcome.terminationStatus, outcome.standardOutput, outcome.standardError)
    }

    /// Runs a program; throws an error with its output unless it exits with status 0.
    static func require(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String],
        input: String? = nil,
        scratch: String
    ) async throws -> CommandResult {
        let result = try await run(executable, arguments, environment: environment, input: input, scratch: scratch)
        guard result.exitStatus == 0 else {
            let words = ([executable] + arguments).joined(separator: " ")
            throw KerberosTestingError(
                .commandFailed,
                "\(words) exited with \(result.exitStatus): \(result.errors)\(result.output)"
            )
        }
        return result
    }

    /// Returns an open unnamed file with the input.
    ///
    /// It is not a pipe, because a child that exits before it has read all input would raise SIGPIPE in the test process.
    private static func inputFile(holding input: String, in folder: String) throws -> FileDescriptor {
        let path = FilePath("\(folder)/input-\(UUID().uuidString)")
        let descriptor = try FileDescriptor.open(
            path,
            .readWrite,
            options: [.create, .exclusiveCreate, .closeOnExec],
            permissions: .ownerReadWrite
        )
        do {
            try FileManager.default.removeItem(atPath: path.string)
            try descriptor.writeAll(input.utf8)
            try descriptor.seek(offset: 0, from: .start)
        } catch {
            try? descriptor.close()
            throw error
        }
        return descriptor
    }
}

extension CommandResult {
    fileprivate init(_ status: TerminationStatus, _ output: String?, _ errors: String?) {
        let exitStatus: Int
        switch status {
        case .exited(let code): exitStatus = Int(code)
        case .signaled(let signal): exitStatus = 128 + Int(signal)
        }
        self.init(exitStatus: exitStatus, output: output ?? "", errors: errors ?? "")
    }
}

/// The exit status and the output of a program.
public struct CommandResult: Sendable, Hashable {
    /// The exit status, or 128 plus the signal's number if a signal terminated the program, as in a shell.
    public let exitStatus: Int
    /// The standard output.
    public let output: String
    /// The standard error.
    public let errors: String

    /// Creates a result.
    public init(exitStatus: Int, output: String, errors: String) {
        self.exitStatus = exitStatus
        self.output = output
        self.errors = errors
    }
}

extension TestRealm {
    /// Runs a program in the realm's ``environment``, with its trace in ``tracePath``, and collects its output.
    ///
    /// A name without a slash is looked up in `PATH` and then in system folders such as `/usr/sbin`. Canceling the task kills the program.
    /// - Parameters:
    ///   - executable: A name such as `kinit`, or a path.
    ///   - arguments: The arguments after the name; they are not interpreted by a shell.
    ///   - extra: Variables to add to or replace in the environment.
    ///   - input: The standard input, such as a password and a line break; none if nil.
    ///   - clockOffset: The offset of the program's clock from the machine's, in whole seconds, set with libfaketime; none if nil.
    ///     libfaketime does not work in a program that was built with a sanitizer.
    ///   - deadline: How long the program may run before it is killed.
    /// - Returns: The result, whatever the exit status is.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` (also for libfaketime), or `commandFailed` after the deadline; or
    ///   the error of starting the program.
    public func run(
        _ executable: String,
        _ arguments: [String],
        environment extra: [String: String] = [:],
        input: String? = nil,
        clockOffset: Duration? = nil,
        deadline: Duration = .seconds(600)
    ) async throws -> CommandResult {
        let clock = try clockOffset.map(ClockLibrary.environment) ?? [:]
        let values = environment.merging(["KRB5_TRACE": tracePath]) { $1 }.merging(clock) { $1 }.merging(extra) { $1 }
        return try await Command.run(
            executable,
            arguments,
            environment: values,
            input: input,
            scratch: directory,
            deadline: deadline
        )
    }
}
