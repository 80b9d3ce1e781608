internal import ExtensionProfile
internal import Foundation
internal import Kerberos
internal import KerberosEngine
internal import KerberosSSO
internal import SSOAgent
internal import SSOAgentClient

extension CommonOptions {
    /// What an agent of these profiles works with.
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

    /// The extension of an agent.
    private func agentExtension(
        of profiles: [Profile],
        system: Bool,
        cacheSocket: String?,
        asking: AgentPrompter?
    ) async throws -> KerberosExtension {
        var settings = SingleSignOn.Settings()
        if let asking {
            settings.prompter = asking.prompter
            settings.nobodyToAsk = asking.nobodyToAsk
        }
        settings.secretStore = .automatic
        if !system { settings.defaultCacheName = "KCM:" }
        settings.cacheSocket = cacheSocket
        if verbose > 1 { settings.trace = { line in Console.note("krb5: \(line.trimmingCharacters(in: .newlines))") } }
        return try await SingleSignOn(.inProcess(profiles), settings: settings).kerberos
    }
}

/// Who asks for the passwords that an agent needs, and what stands in the way of that.
struct AgentPrompter: Sendable {
    /// Nil where there is neither a program nor a place to ask.
    let prompter: (any Prompter)?
    /// For `KerberosExtension/Options/nobodyToAsk`.
    let nobodyToAsk: @Sendable () -> Void
    /// Why nobody can be asked, and nil when somebody was again.
    let faults: AsyncStream<String?>

    /// - Parameters:
    ///   - program: the pinentry program; nil is the machine's, where there is a place to ask.
    ///   - environment: the agent's variables. `GPG_TTY` is GnuPG's own for the terminal that a program without a window may use.
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
        nobodyToAsk = { continuation.yield(PinentryPrompter.missingPlace) }
        self.faults = faults
    }
}
