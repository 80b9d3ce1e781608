import Foundation
import Subprocess
import SystemPackage

/// A program that runs to its end.
enum Command {
    private static let outputLimit = 4 * 1024 * 1024

    /// Runs a program and collects what it writes.
    ///
    /// - Parameter scratch: A private folder, for the input.
    static func run(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String],
        input: String?,
        scratch: String
    ) async throws -> CommandResult {
        let path = try Program.path(of: executable, environment: environment)
        let values = environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let configuration = Subprocess.Configuration(
            executable: .path(FilePath(path)),
            arguments: Arguments(arguments),
            environment: .custom(Dictionary(values) { $1 })
        )
        let output: StringOutput<UTF8> = .string(limit: outputLimit)
        guard let input else {
            let outcome = try await Subprocess.run(configuration, input: .none, output: output, error: output)
            return CommandResult(outcome.terminationStatus, outcome.standardOutput, outcome.standardError)
        }
        let descriptor = try inputFile(holding: input, in: scratch)
        let outcome = try await Subprocess.run(
            configuration,
            input: .fileDescriptor(descriptor, closeAfterSpawningProcess: true),
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
