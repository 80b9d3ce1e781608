internal import CommandSupport
internal import Foundation
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
        let home = Self.home(environment)
        let settings = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "\(home)/.config"
        environmentFile = MarkedFile(
            path: "\(settings)/environment.d/60-ksso.conf",
            lines: Self.environmentText(environment),
            marks: Self.marks,
            isOursAlone: true
        )
        profile = MarkedFile(
            path: Self.profilePath(home: home, environment: environment),
            lines: Self.profileText(OwnProgram.name(arguments: CommandLine.arguments, environment: environment), startsAgent: !hasUnits),
            marks: Self.marks,
            isOursAlone: false
        )
    }

    private static func home(_ environment: [String: String]) -> String {
        environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    }

    /// Whether the files exist and are current.
    var isInstalled: Bool { environmentFile.isInstalled && profile.isInstalled }

    /// Whether both files have lines of this project, perhaps those of another version.
    var hasLines: Bool { environmentFile.installedLines != nil && profile.installedLines != nil }

    /// Returns the profile's lines for another path of the program.
    func profile(calling program: String) -> MarkedFile {
        MarkedFile(
            path: profile.path,
            lines: Self.profileText(program, startsAgent: !hasUnits),
            marks: Self.marks,
            isOursAlone: false
        )
    }

    /// The path of the program that the installed profile calls; nil if the lines are not installed.
    var calledProgram: String? {
        profile.installedLines?.lazy.compactMap { line in
            for verb in Self.verbs {
                guard let range = line.range(of: " \(verb) >/dev/null") else { continue }
                return String(line[..<range.lowerBound]).trimmingCharacters(in: ["'"]).replacing("'\\''", with: "'")
            }
            return nil
        }.first
    }

    private static let verbs = ["agent run --background", "agent status"]

    private static func environmentText(_ environment: [String: String]) -> String {
        // systemd sets XDG_RUNTIME_DIR, but not KSSO_RUNTIME_DIR.
        let isNamed = environment["KSSO_RUNTIME_DIR"]?.hasPrefix("/") == true
        let runtime = isNamed ? RuntimeDirectory(environment: environment).path.replacing("$", with: "\\$") : "${XDG_RUNTIME_DIR}/ksso"
        return """
            KRB5_CONFIG=\(runtime)/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf}

            """
    }

    /// Returns lines for POSIX sh and `test -O`, which every shell supports. Another user can create a link in /tmp to a folder of this
    /// user, which `-O` would accept, and replace the link later. The lines follow the rules of ``SSOAgentClient/RuntimeDirectory``.
    private static func profileText(_ program: String, startsAgent: Bool) -> String {
        // If systemd listens, the status request starts the agent, which then writes its krb5.conf.
        let name = shellWord(program)
        let start = "\(name) \(startsAgent ? verbs[0] : verbs[1])"
        return """
            \(start) >/dev/null 2>&1 || :
            ksso_runtime=${KSSO_RUNTIME_DIR-}
            case $ksso_runtime in /*) ;; *) ksso_runtime=${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/ksso} ;; esac
            case $ksso_runtime in
                /*) ;;
                *)
                    ksso_runtime=/run/user/$(id -u)
                    if [ -w "$ksso_runtime" ]; then ksso_runtime=$ksso_runtime/ksso; else ksso_runtime=/tmp/ksso-$(id -u); fi
                    ;;
            esac
            if [ -r "$ksso_runtime/krb5.conf" ] && [ -O "$ksso_runtime" ] && [ -O "$ksso_runtime/krb5.conf" ] &&
                [ ! -h "$ksso_runtime" ] && [ ! -h "$ksso_runtime/krb5.conf" ]; then
                case ":${KRB5_CONFIG-}:" in
                    *":$ksso_runtime/krb5.conf:"*) ;;
                    *) KRB5_CONFIG=$ksso_runtime/krb5.conf:${KRB5_CONFIG:-/etc/krb5.conf} ;;
                esac
                export KRB5_CONFIG
                # What the login itself acquired, by PAM or ssh, goes to the agent; otherwise it stays in use.
                case ${KRB5CCNAME-} in
                    "" | KCM:*) unset KRB5CCNAME ;;
                    *) if \(name) agent import >/dev/null 2>&1; then unset KRB5CCNAME; fi ;;
                esac
            fi
            unset ksso_runtime

            """
    }

    /// Returns the file that the user's login shell reads: for bash, the first one that exists.
    static func profilePath(home: String, environment: [String: String]) -> String {
        switch URL(fileURLWithPath: environment["SHELL"] ?? "/bin/sh").lastPathComponent {
        case "zsh":
            return "\(environment["ZDOTDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? home)/.zprofile"
        case "bash":
            let names = [".bash_profile", ".bash_login", ".profile"]
            return "\(home)/\(names.first { access("\(home)/\($0)", F_OK) == 0 } ?? ".profile")"
        default:
            return "\(home)/.profile"
        }
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
        Self.profilePaths(environment: environment).map {
            MarkedFile(path: $0, lines: profile.lines, marks: Self.marks, isOursAlone: false)
        }
    }

    /// The profiles of all login shells.
    static func profilePaths(environment: [String: String]) -> [String] {
        let home = home(environment)
        let folders = [home] + [environment["ZDOTDIR"]].compactMap { $0 }.filter { $0.hasPrefix("/") && $0 != home }
        return [".profile", ".bash_profile", ".bash_login"].map { "\(home)/\($0)" } + folders.map { "\($0)/.zprofile" }
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
