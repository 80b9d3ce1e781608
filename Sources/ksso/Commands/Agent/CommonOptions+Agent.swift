internal import CommandSupport
internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

extension CommonOptions {
    /// Returns the configuration of an agent.
    func agentOptions(
        _ runtime: RuntimeDirectory,
        system: Bool = false,
        asking: AgentPrompter? = nil,
        environment: [String: String]
    ) -> AgentOptions {
        var options = AgentOptions(
            runtime: runtime,
            search: ProfileSearch(explicitPaths: profile, environment: environment),
            makeExtension: { try await agentExtension(of: $0, system: system, cacheSocket: $1, asking: asking) },
            log: { Console.report($0) }
        )
        options.mode = system ? .system : .agent
        options.environment = environment
        options.promptFaults = asking?.faults
        return options
    }

    /// Creates the extension of an agent.
    private func agentExtension(
        of profiles: [Profile],
        system: Bool,
        cacheSocket: String?,
        asking: AgentPrompter?
    ) async throws -> KerberosExtension {
        var settings = SingleSignOn.Settings()
        if let asking {
            settings.prompter = asking.prompter
            settings.promptUnavailable = asking.promptUnavailable
        }
        settings.secretStore = .automatic
        settings.directory = .boundToTLS
        if !system { settings.defaultCacheName = "KCM:" }
        settings.cacheSocket = cacheSocket
        if verbose > 1 { settings.trace = { line in Console.note("krb5: \(line.trimmingCharacters(in: .newlines))") } }
        return try await SingleSignOn.engine(.inProcess(profiles), settings: settings)
    }
}

/// The prompter of an agent, and the reasons why it cannot prompt.
struct AgentPrompter: Sendable {
    /// The prompter; nil if there is neither a pinentry program nor a display or terminal.
    let prompter: (any Prompter)?
    /// The value for `SingleSignOn/Settings/promptUnavailable`.
    let promptUnavailable: @Sendable () -> Void
    /// Yields why the user cannot be prompted, and nil when prompting works again.
    let faults: AsyncStream<String?>

    /// - Parameters:
    ///   - program: The pinentry program; nil means the system's, if there is a display or terminal.
    ///   - environment: The agent's environment. `GPG_TTY` is GnuPG's variable for the terminal that pinentry may use.
    init(program: String?, environment: [String: String]) {
        let (faults, continuation) = AsyncStream.makeStream(of: String?.self)
        let terminal = environment["GPG_TTY"].flatMap { $0.isEmpty ? nil : $0 }
        let canAsk = program != nil || PinentryPrompter.hasPlace(terminal: terminal, environment: environment)
        prompter =
            if canAsk {
                PinentryPrompter(
                    program: program ?? "pinentry",
                    terminal: terminal,
                    environment: environment,
                    report: { continuation.yield($0) }
                )
            } else {
                nil
            }
        promptUnavailable = { continuation.yield(PinentryPrompter.missingPlace) }
        self.faults = faults
    }
}
