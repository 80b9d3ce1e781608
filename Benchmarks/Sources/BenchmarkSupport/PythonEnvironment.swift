import Foundation
import Subprocess
import SystemPackage

/// A Python environment below `.build` with the packages that are compared with this one.
package struct PythonEnvironment: Sendable {
    /// The path of the interpreter.
    package let python: String

    /// Creates the environment on the first run, which requires the network, and for some packages a C compiler and headers.
    ///
    /// - Parameters:
    ///   - name: The directory's name.
    ///   - packages: The packages that pip installs, each with its version.
    ///   - modules: The modules that must be importable afterwards.
    package static func install(_ name: String, packages: [String], modules: [String]) async -> Result<PythonEnvironment, Unavailable> {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = sources.deletingLastPathComponent().appending(path: ".build/\(name)").path
        let environment = PythonEnvironment(python: "\(folder)/bin/python")
        do {
            if (try? await run(environment.python, ["-c", "import \(modules.joined(separator: ", "))"])) == nil {
                try await run("python3", ["-m", "venv", "--clear", folder])
                try await run(environment.python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"] + packages)
            }
            return .success(environment)
        } catch {
            return .failure(Unavailable(reason: "\(error)"))
        }
    }

    /// Runs a program and returns its standard output.
    @discardableResult
    package static func run(_ executable: String, _ arguments: [String]) async throws -> String {
        let program: Executable = executable.contains("/") ? .path(FilePath(executable)) : .name(executable)
        let result = try await Subprocess.run(
            program,
            arguments: Arguments(arguments),
            output: .string(limit: 1 << 20),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            let words = result.standardError.split(separator: "\n").last ?? "no reason given"
            throw Unavailable(reason: "\(executable) \(arguments.prefix(3).joined(separator: " ")) failed: \(words)")
        }
        return result.standardOutput
    }
}
