internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import NegotiateProxy

/// The option of programs that use the local proxy.
struct ProxyClientOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The address of the local proxy.", valueName: "host:port"))
    var proxy = DefaultProxyAddress.text

    func validate() throws {
        guard let port = proxy.wholeMatch(of: /(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})/)?.1, (1...65535).contains(Int(port) ?? 0)
        else { throw ValidationError("--proxy: write a host and a port, such as \(DefaultProxyAddress.text).") }
    }
}

struct ConfigureProxyEnvironment: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy-env",
        abstract: "Set http_proxy, https_proxy and no_proxy, so that programs use the local proxy.",
        discussion: """
            Prints shell exports, in the syntax of fish if fish runs the command. --install writes the variables for the user's sessions, \
            or as root for those of every user. Hosts of the profile's NoProxy are excepted.

            EXAMPLES:
              eval "$(ksso configure proxy-env)"
              ksso configure proxy-env | source      # in fish
              ksso configure proxy-env --install
            """
    )

    @Option(help: ArgumentHelp("Print the syntax of this shell: sh, bash, zsh or fish.", valueName: "name"))
    var shell: ShellSyntax?
    @OptionGroup var options: SettingsOptions
    @OptionGroup var scope: UserSettingsOptions
    @OptionGroup var client: ProxyClientOptions

    func run() async throws {
        let prints = !options.install && !options.check && !options.uninstall
        guard prints else {
            return try await options.run(isUser: scope.isUser, proxy: client.proxy) { ProxyEnvironmentSettings(context: $0) }
        }
        var context = try await SettingsContext.load(
            profiles: options.profile,
            isMachine: geteuid() == 0 && !scope.isUser,
            environment: ProcessInfo.processInfo.environment
        )
        context.proxy = client.proxy
        Console.printExports(ProxyClient(context: context).variables, for: shell ?? ShellSyntax.ofCaller)
    }
}

struct ConfigureApt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apt",
        abstract: "Let apt use the local proxy.",
        discussion: """
            Writes a file of its own in /etc/apt/apt.conf.d, as root.

            EXAMPLES:
              sudo ksso configure apt --install
              ksso configure apt --check
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var client: ProxyClientOptions

    func run() async throws { try await options.run(proxy: client.proxy) { AptSettings(context: $0) } }
}

struct ConfigurePip: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pip",
        abstract: "Let pip use the local proxy.",
        discussion: """
            Adds a line to pip.conf: that of the user, or as root that of the machine.

            EXAMPLES:
              ksso configure pip --install
              ksso configure pip --check
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var scope: UserSettingsOptions
    @OptionGroup var client: ProxyClientOptions

    func run() async throws { try await options.run(isUser: scope.isUser, proxy: client.proxy) { PipSettings(context: $0) } }
}

struct ConfigureNpm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "npm",
        abstract: "Let npm use the local proxy.",
        discussion: """
            Adds lines to ~/.npmrc, or as root to npm's file for all users.

            EXAMPLES:
              ksso configure npm --install
              ksso configure npm --check
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var scope: UserSettingsOptions
    @OptionGroup var client: ProxyClientOptions

    func run() async throws { try await options.run(isUser: scope.isUser, proxy: client.proxy) { await NpmSettings($0) } }
}

struct ConfigureDocker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker",
        abstract: "Let docker use the local proxy: as a user in containers, as root to pull images.",
        discussion: """
            Adds the proxy to ~/.docker/config.json, which passes it to containers and builds; as root, writes a file of its own for \
            systemd's docker.service.

            EXAMPLES:
              ksso configure docker --install
              sudo ksso configure docker --install
              ksso configure docker --check
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var scope: UserSettingsOptions
    @OptionGroup var client: ProxyClientOptions

    func run() async throws { try await options.run(isUser: scope.isUser, proxy: client.proxy) { DockerSettings(context: $0) } }
}
