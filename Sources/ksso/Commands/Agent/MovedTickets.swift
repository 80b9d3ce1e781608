internal import CommandSupport
internal import KerberosSSO
internal import SSOAgentClient

/// The tickets that an agent has moved from the system's default cache, where other programs looked for them.
struct MovedTickets {
    let principals: [String]

    /// Prints to standard error how other programs find the tickets. Prints nothing if they use the agent's caches already.
    func report(_ runtime: RuntimeDirectory, environment: [String: String]) async {
        guard !principals.isEmpty, let socket = runtime.cacheSocket, !KerberosEnvironment.reaches(socket, environment: environment) else {
            return
        }
        let names = principals.joined(separator: " and ")
        let isConfigured = await SessionSetUp(environment: environment).isInstalled
        Console.note(
            "Moved the tickets of \(names) into the agent. To share the tickets with this shell: eval \"$(ksso env)\"; "
                + (isConfigured ? "with all programs: log in again." : "with all later sessions: ksso configure session --install")
        )
    }
}
