import Foundation
import Subprocess
import SystemPackage

/// A program that runs to its end.
enum Command {
    private static let outputLimit = 4 * 1024 * 1024

    /// How a run ended, from the point of view of the deadline.
    private enum Outcome: Sendable {
        case ended(CommandResult)
        case timedOut
        /// The run ended first, or the task was cancelled.
        case notReached
    }

    /// Runs a program and collects what it writes.
    ///
    /// - Parameters:
    ///   - scratch: A private folder, for the input.
    ///   - deadline: How long the program may run before it is killed, so that one that hangs fails its test and does not stop the run.
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
            // What is left is cancelled, which kills the program.
            defer { group.cancelAll() }
            while let outcome = try await group.next() {
                switch outcome {
                case .ended(let result): return result
                case .timedOut:
                    let words = ([executable] + arguments).joined(separator: " ")
                    throw KerberosTestingError(.commandFailed, "\(words) did not end within \(deadline) and was killed.")
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

    /// Runs a program and throws what it wrote unless it exits with 0.
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

    /// An open file without a name that holds the input.
    ///
    /// Not a pipe: a child that ends before it has read would raise SIGPIPE in the whole test process.
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

/// What a program that was run left behind.
public struct CommandResult: Sendable, Hashable {
    /// The exit status, or 128 plus the signal's number if a signal ended it, as a shell counts.
    public let exitStatus: Int
    /// What it wrote to standard output.
    public let output: String
    /// What it wrote to standard error.
    public let errors: String

    /// Creates a result.
    public init(exitStatus: Int, output: String, errors: String) {
        self.exitStatus = exitStatus
        self.output = output
        self.errors = errors
    }
}

extension TestRealm {
    /// Runs a program in the realm's ``environment``, with its trace in ``tracePath``, and collects what it writes.
    ///
    /// A bare name is looked up in `PATH` and then in `/usr/sbin` and the like. A task that is cancelled kills the program.
    /// - Parameters:
    ///   - executable: A name such as `kinit`, or a path.
    ///   - arguments: The words after the name; no shell reads them.
    ///   - extra: Variables to add to the environment or to replace in it.
    ///   - input: What the program reads from standard input, such as a password and a line break; none if nil.
    ///   - clockOffset: How far the program's clock is from the machine's, in whole seconds, by libfaketime; the machine's clock if nil.
    ///     libfaketime does not work in a program that was built with a sanitizer.
    ///   - deadline: How long the program may run before it is killed.
    /// - Returns: The result, whatever the exit status.
    /// - Throws: ``KerberosTestingError`` with the code `programMissing` (libfaketime's too) or, after the deadline, `commandFailed`; or
    ///   what starting the program throws.
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
