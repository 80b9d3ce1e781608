internal import ExtensionProfile
internal import Foundation
internal import HTTPNegotiate
internal import Subprocess
internal import SystemPackage

/// The last step of `ksso setup`: whether all that was set up works, and what to do next.
struct SetupCheck {
    /// The variables as the command was started with them.
    let environment: [String: String]

    /// Has the doctor look at the realm, and names a page to try.
    ///
    /// - Parameter realm: The realm that was set up; nil is the default one.
    /// - Throws: `CommandFailure` with the first layer that fails, and its remedy.
    func run(realm: String?) async throws {
        let diagnosis = try await diagnosis(of: realm)
        if let cause = diagnosis.firstFailure {
            let message = "the set-up is complete, but the check \(cause.name) failed: \(cause.detail)"
            throw CommandFailure(.failed, message, details: cause.remedyLines.map { "    \($0)" })
        }
        let warnings = diagnosis.checks.count { $0.verdict == .warning }
        let found =
            warnings == 0 ? "nothing fails" : "nothing fails, but there \(warnings == 1 ? "is 1 warning" : "are \(warnings) warnings")"
        Console.print("Checked: \(found). To see each layer: ksso doctor")
        let configurations = try await ProfileSearch().runAside().configurations
        let configuration = configurations.first { $0.realm == realm } ?? configurations.first
        guard let rule = configuration?.hosts.first else { return }
        let host = rule.kind == .suffix ? "HOST\(rule.name)" : rule.name
        Console.note("Try it: ksso fetch https://\(host)/")
    }

    /// In a process of its own, which sees what the user's next command will see: this one has read other profiles, and has libkrb5 set up.
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
            throw CommandFailure(.failed, "all is set up, and the check of it did not end well. See: ksso doctor")
        }
        return diagnosis
    }
}
