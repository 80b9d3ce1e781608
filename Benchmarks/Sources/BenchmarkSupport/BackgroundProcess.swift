import Foundation
import Subprocess
import SystemPackage

/// A program that runs while a closure runs.
package struct BackgroundProcess: Sendable {
    package let identifier: Int32
    private let logPath: String

    /// What the program has printed.
    package var output: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

    /// Starts a program, and stops it when the closure returns or throws.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - environment: All variables of the program.
    ///   - logPath: The file to which its output is appended.
    ///   - exitLimit: How long it may take to exit.
    nonisolated(nonsending) package static func with<R>(
        _ command: [String],
        environment: [String: String],
        logPath: String,
        exitLimit: Duration = .seconds(2),
        _ body: nonisolated(nonsending) (BackgroundProcess) async throws -> R
    ) async throws -> R {
        let options: FileDescriptor.OpenOptions = [.create, .append, .closeOnExec]
        let log = try FileDescriptor.open(FilePath(logPath), .writeOnly, options: options, permissions: [.ownerReadWrite])
        defer { try? log.close() }
        var result: Result<R, any Error>?
        let variables = environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let program: Executable = command[0].contains("/") ? .path(FilePath(command[0])) : .name(command[0])
        _ = try await Subprocess.run(
            program,
            arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(Dictionary(variables) { $1 }),
            input: .none,
            output: .fileDescriptor(log, closeAfterSpawningProcess: false),
            error: .fileDescriptor(log, closeAfterSpawningProcess: false)
        ) { execution in
            do {
                let process = BackgroundProcess(identifier: execution.processIdentifier.value, logPath: logPath)
                result = .success(try await body(process))
            } catch {
                result = .failure(error)
            }
            await execution.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: exitLimit)])
        }
        guard let result else { throw CancellationError() }
        return try result.get()
    }
}
