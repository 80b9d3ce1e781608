internal import Subprocess

/// The systemd that looks after the user's services, where there is one.
enum UserService {
    /// Whether it runs and knows a unit.
    static func isKnown(_ unit: String) async -> Bool { await run("cat", unit) }

    /// Has a unit start now and with each session.
    static func enable(_ unit: String) async -> Bool { await run("enable", "--now", unit) }

    private static func run(_ arguments: String...) async -> Bool {
        let result = try? await Subprocess.run(
            .name("systemctl"),
            arguments: Arguments(["--user"] + arguments),
            input: .none,
            output: .discarded,
            error: .discarded
        )
        return result?.terminationStatus.isSuccess == true
    }
}
