internal import ArgumentParser
internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import SignOnPolicy

/// `ksso configure`: configures other programs so that they share the tickets.
struct ConfigureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "configure",
        abstract: "Configure other programs to share the tickets: print, install, check or remove the required settings.",
        discussion: """
            Each command prints the settings and the files that they belong to. --install writes them: for the user, or as root for the \
            machine. Settings of others are kept.

            EXAMPLES:
              ksso configure session --install
              sudo ksso configure chromium --install
              ksso configure git --check
            """,
        subcommands: [
            ConfigureSession.self, ConfigureChromium.self, ConfigureFirefox.self, ConfigureGit.self, ConfigureProxyEnvironment.self,
            ConfigureApt.self, ConfigurePip.self, ConfigureNpm.self, ConfigureDocker.self,
        ]
    )
}

/// The options of the commands for one program.
struct SettingsOptions: ParsableArguments {
    @Flag(help: "Write the settings.")
    var install = false
    @Flag(help: "Print what is there, what is missing and what contradicts it; exit with status 1 unless all is there.")
    var check = false
    @Flag(help: "Remove what --install wrote.")
    var uninstall = false
    @Flag(help: "Change files that contain other settings without asking.")
    var yes = false
    @Option(
        name: .long,
        help: ArgumentHelp("Use this profile instead of the installed ones; may be repeated.", valueName: "file"),
        completion: .profile
    )
    var profile: [String] = []

    func validate() throws {
        if [install, check, uninstall].count(where: \.self) > 1 {
            throw ValidationError("--install, --check and --uninstall are mutually exclusive.")
        }
        if yes, !install { throw ValidationError("--yes requires --install.") }
    }

    /// Reads the profiles, and prints, installs, checks or removes the settings.
    ///
    /// - Parameters:
    ///   - isUser: Whether root configures its own account.
    ///   - proxy: The local proxy; nil for settings that are made from the profile's hosts.
    func run(isUser: Bool = false, proxy: String? = nil, _ make: (SettingsContext) async -> any ProgramSettings) async throws {
        var context = try await SettingsContext.load(
            profiles: profile,
            isMachine: geteuid() == 0 && !isUser,
            environment: ProcessInfo.processInfo.environment
        )
        if let proxy { context.proxy = proxy }
        context.isOwnAccountOfRoot = geteuid() == 0 && isUser
        let operation = SettingsOperation(settings: await make(context), context: context)
        if uninstall { return try operation.uninstall() }
        if proxy == nil, context.answeredHosts.isEmpty {
            let advice =
                context.isMachine
                ? "no profile in \(ProfileSearch().systemDirectory) lists a host, so there is nothing to configure. Install one for all users with: "
                    + "ksso setup --system FILE; or name one with: --profile FILE"
                : "no profile lists a host, so there is nothing to configure. Install one with: ksso setup FILE"
            throw CommandFailure(.notHandled, advice)
        }
        if check { return try await operation.check() }
        if install { return try await operation.install(isAgreed: yes) }
        try operation.show()
    }
}

/// The option of settings that a user and the machine can have.
struct UserSettingsOptions: ParsableArguments {
    @Flag(name: .customLong("user"), help: "As root, configure root's own account instead of the machine.")
    var isUser = false
}
