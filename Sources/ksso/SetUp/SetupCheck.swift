internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import SignOnDiagnosis
internal import SignOnPolicy
internal import Subprocess
internal import SystemPackage
internal import SystemSupport

/// The last step of `ksso setup`: checks whether everything works, and prints what to do next.
struct SetupCheck {
    /// The environment at the start of the command.
    let environment: [String: String]

    /// Runs the doctor's checks for the realm, and suggests a page to try.
    ///
    /// - Parameter realm: The configured realm; nil means the default realm.
    /// - Throws: `CommandFailure` with the first layer that fails, and its remedy.
    func run(realm: String?) async throws {
        let diagnosis = try await diagnosis(of: realm)
        if let cause = diagnosis.firstFailure {
            let message = "the setup is complete, but the check \(cause.name) failed: \(cause.detail)"
            throw CommandFailure(.failed, message, details: cause.remedyLines.map { "    \($0)" })
        }
        let warnings = diagnosis.checks.filter { $0.verdict == .warning }
        for warning in warnings {
            Console.note("! \(warning.name): \(warning.detail)")
            for line in warning.remedyLines { Console.note("    \(line)") }
        }
        let found =
            warnings.isEmpty
            ? "all checks of the realm passed" : "no check failed, with \(quantity(warnings.count, "warning"))"
        Console.print("Checked: \(found). To check a page too: ksso doctor URL")
        let configurations = try await ProfileSearch().load().configurations
        let configuration = configurations.first { $0.realm == realm } ?? configurations.first
        guard let rule = configuration?.hosts.first else { return }
        let page =
            switch rule.kind {
            case .exact: "a page of \(rule.name)"
            case .suffix: "a page of a host below \(rule.name.dropFirst())"
            }
        Console.note("Try it with \(page): ksso fetch URL")
    }

    /// Runs in a separate process, which sees what the user's next command will see. This process has read other profiles and initialized
    /// libkrb5.
    private func diagnosis(of realm: String?) async throws -> Diagnosis {
        let variables = environment.map { (Subprocess.Environment.Key(stringLiteral: $0.key), $0.value) }
        let result = try await Subprocess.run(
            .path(FilePath(OwnProgram.executable)),
            arguments: Arguments(["doctor", "--json"] + (realm.map { [$0] } ?? [])),
            environment: .custom(Dictionary(variables) { $1 }),
            input: .none,
            output: .data(limit: 1 << 20),
            error: .discarded
        )
        guard let diagnosis = try? JSONDecoder().decode(Diagnosis.self, from: result.standardOutput) else {
            throw CommandFailure(.failed, "the setup is complete, but the final check could not be run. Run: ksso doctor")
        }
        return diagnosis
    }
}
