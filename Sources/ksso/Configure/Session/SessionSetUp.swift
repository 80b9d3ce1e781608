internal import CommandSupport
internal import Foundation
internal import Kerberos
internal import SSOAgent
internal import SSOAgentClient
internal import Subprocess
internal import SystemSupport

/// The two places that set the environment of a session's programs: systemd's for graphical programs and services, and the profile of the
/// login shell.
struct SessionSetUp {
    /// The file for `systemd --user` (environment.d(5)).
    let environmentFile: MarkedFile
    /// The profile of the login shell.
    let profile: MarkedFile
    /// Whether systemd starts the agent.
    let hasUnits: Bool
    let environment: [String: String]

    static let unit = "ksso-agent.socket"
    static let marks = MarkedFile.Marks(command: "ksso configure session")

    init(environment: [String: String]) async {
        self.environment = environment
        hasUnits = await UserService.isKnown(Self.unit)
        let login = LoginProfile(environment: environment)
        environmentFile = MarkedFile(
            path: "\(login.settingsFolder)/environment.d/60-ksso.conf",
            lines: Self.environmentText(environment),
            marks: Self.marks,
            isOursAlone: true
        )
        profile = MarkedFile(
            path: login.path,
            lines: login.lines(
                calling: OwnProgram.name(arguments: CommandLine.arguments, environment: environment),
                startsAgent: !hasUnits
            ),
            marks: Self.marks,
            isOursAlone: false
        )
    }

    /// Whether the files exist and are current.
    var isInstalled: Bool { environmentFile.isInstalled && profile.isInstalled }

    /// Whether all sessions of the machine use a cache server that runs, so that settings of this session would hide its tickets.
    ///
    /// The caches of an agent that this session knows are not those of the machine.
    func usesMachineCache() async -> Bool {
        let files = RuntimeDirectory.systemConfigurationFiles(environment: environment)
        let named = environment["KRB5_CONFIG"].map { $0.split(separator: ":").map(String.init) } ?? files
        guard named == files else { return false }
        let client = KerberosClient(RealmConfiguration(realm: "", base: .files(files)))
        guard (try? await client.defaultCacheName().type) == "KCM" else { return false }
        let socket = (try? await client.libdefault("kcm_socket")) ?? MachineCache.standardSocket
        return switch UnixSocketAddress(path: socket)?.listener() {
        case .accepting, .busy: true
        case .forbidden, .absent, nil: false
        }
    }

    /// Whether both files have lines of this project, perhaps those of another version.
    var hasLines: Bool { environmentFile.installedLines != nil && profile.installedLines != nil }

    /// Returns the profile's lines for another path of the program.
    func profile(calling program: String) -> MarkedFile {
        MarkedFile(
            path: profile.path,
            lines: LoginProfile(environment: environment).lines(calling: program, startsAgent: !hasUnits),
            marks: Self.marks,
            isOursAlone: false
        )
    }

    /// The path of the program that the installed profile calls; nil if the lines are not installed.
    var calledProgram: String? { profile.installedLines.flatMap(LoginProfile.calledProgram) }

    private static func environmentText(_ environment: [String: String]) -> String {
        // systemd sets XDG_RUNTIME_DIR, but not KSSO_RUNTIME_DIR.
        let isNamed = environment["KSSO_RUNTIME_DIR"]?.hasPrefix("/") == true
        let runtime = isNamed ? RuntimeDirectory(environment: environment).path.replacing("$", with: "\\$") : "${XDG_RUNTIME_DIR}/ksso"
        return """
            KRB5_CONFIG=\(runtime)/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf}

            """
    }
}

/// The systemd user manager, if there is one.
enum UserService {
    /// Returns whether the manager runs and has this unit.
    static func isKnown(_ unit: String) async -> Bool { await run("cat", unit) }

    /// Starts a unit now and with each session.
    static func enable(_ unit: String) async -> Bool { await run("enable", "--now", unit) }

    /// Whether a unit starts with each session.
    static func isEnabled(_ unit: String) async -> Bool { await run("is-enabled", unit) }

    /// Stops starting a unit with each session. A running unit continues.
    static func disable(_ unit: String) async -> Bool { await run("disable", unit) }

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

extension SessionSetUp {
    /// Writes the files and starts the agent with the session, through systemd if it manages user services.
    ///
    /// - Parameter enablesUnit: Whether systemd's unit is enabled even if no file changes: the user may have disabled it since.
    /// - Throws: `CommandFailure`, also in a realm of `ksso realm run`.
    func install(enablesUnit: Bool = true) async throws {
        try EnclosingRealm.refuseInside(environment: environment)
        var isChanged = false
        for file in [environmentFile, profile] {
            let isWritten = try file.install()
            isChanged = isChanged || isWritten
            Console.print("\(file.path): \(isWritten ? "written" : "up to date")")
        }
        let isDisabled = if hasUnits, !enablesUnit, !isChanged { await !UserService.isEnabled(Self.unit) } else { false }
        if isDisabled {
            Console.note("\(Self.unit) is disabled. To enable it: ksso configure session --install")
        } else if hasUnits {
            try await stopOtherAgent()
            guard await UserService.enable(Self.unit) else {
                throw CommandFailure(
                    .failed,
                    "the agent's sockets cannot be enabled. See: systemctl --user enable --now \(Self.unit)"
                )
            }
            Console.print("\(Self.unit): enabled")
        }
        guard isChanged else { return }
        Console.note("Log in again, so that all programs share the tickets. To share the tickets with this shell: eval \"$(ksso env)\"")
        for note in SharingLimits(environment: environment).notes { Console.note(note) }
    }

    /// What ``install()`` would change, in order.
    ///
    /// - Throws: `CommandFailure` if a file cannot be changed.
    func pendingChanges() throws(CommandFailure) -> [(file: MarkedFile, change: SettingsChange)] {
        var changes: [(MarkedFile, SettingsChange)] = []
        for file in [environmentFile, profile] { if let change = try file.pendingChange() { changes.append((file, change)) } }
        return changes
    }

    /// Removes what ``install()`` wrote, also from a profile that another login shell reads, and stops starting the agent with the session.
    ///
    /// - Returns: Whether something was removed.
    func uninstall() async throws -> Bool {
        try EnclosingRealm.refuseInside(environment: environment)
        let files = [environmentFile] + profiles
        // A unit that was enabled without these files was enabled by hand.
        let disablesUnit = hasUnits && files.contains { $0.installedLines != nil }
        // Disabled first, so that the command can be repeated if this fails.
        if disablesUnit, await !UserService.disable(Self.unit) {
            throw CommandFailure(
                .failed,
                "the agent's sockets cannot be disabled, so nothing was removed. See: systemctl --user disable \(Self.unit)"
            )
        }
        var isRemoved = false
        for file in files {
            guard let removal = try file.remove() else { continue }
            isRemoved = true
            Console.print("\(file.path): \(removal == .file ? "removed" : "the lines of ksso were removed")")
        }
        guard isRemoved else { return false }
        if disablesUnit { Console.print("\(Self.unit): disabled") }
        let runtime = RuntimeDirectory(environment: environment)
        guard let listener = runtime.listener(at: .requests) else { return true }
        let command = listener.stopCommand ?? "ksso agent stop"
        Console.note("Programs of this session use the agent until you log out. To stop it now: \(command)")
        return true
    }

    /// The profiles of all login shells that ``install()`` may have changed.
    private var profiles: [MarkedFile] {
        LoginProfile(environment: environment).allPaths.map {
            MarkedFile(path: $0, lines: profile.lines, marks: Self.marks, isOursAlone: false)
        }
    }

    /// Stops an agent that was started by hand, because it owns the sockets that systemd is about to bind.
    private func stopOtherAgent() async throws {
        // The units support only the default directory.
        var environment = environment
        environment["KSSO_RUNTIME_DIR"] = nil
        let runtime = RuntimeDirectory(environment: environment)
        guard PrivateDirectory(path: runtime.path).isTrusted, let listener = runtime.listener(at: .requests), listener.isAgent else {
            return
        }
        try await AgentStop.end(listener)
        Console.print("The agent (process \(listener.processID)) has stopped, so that systemd can start it. Its tickets are kept.")
    }
}
