internal import ExtensionProfile
internal import Foundation
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
