internal import ArgumentParser

struct ConfigureChromium: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chromium",
        abstract: "Let Chromium, Chrome and Edge send tickets to the hosts of the profile.",
        discussion: """
            Writes a policy for every user of the machine. An entry of Hosts is allowed over https, and over plain http only if \
            PlainHTTPHosts lists it. Tickets are delegated only to hosts of DelegationHosts, if the KDC approves.

            EXAMPLES:
              ksso configure chromium
              sudo ksso configure chromium --install
              ksso configure chromium --check
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws { try await options.run { ChromiumSettings($0) } }
}

struct ConfigureFirefox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "firefox",
        abstract: "Let Firefox send tickets to the hosts of the profile.",
        discussion: """
            Adds entries to the policies of every user of the machine, and removes only these later. In Firefox, an entry also allows the \
            subdomains of its host. Tickets are delegated only to hosts of UnconditionalDelegationHosts.

            EXAMPLES:
              ksso configure firefox
              sudo ksso configure firefox --install
              ksso configure firefox --check
            """
    )

    @OptionGroup var options: SettingsOptions

    func run() async throws { try await options.run { FirefoxSettings($0) } }
}

struct ConfigureGit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git",
        abstract: "Let git send tickets to the hosts of the profile instead of asking for a user name.",
        discussion: """
            Adds sections for these hosts to ~/.gitconfig, or as root to /etc/gitconfig. Other hosts are not affected. Tickets are \
            delegated only to hosts that the profile lists for that.

            EXAMPLES:
              ksso configure git --install
              ksso configure git --check
              ksso configure git --uninstall
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var scope: UserSettingsOptions

    func run() async throws { try await options.run(isUser: scope.isUser) { GitSettings($0) } }
}
