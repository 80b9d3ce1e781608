internal import ArgumentParser

/// `ksso agent`: the process that keeps the tickets for all others of the user.
struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep the tickets for every program of this user: run, look after, or stop the agent.",
        subcommands: [AgentRun.self, AgentStatus.self, AgentStop.self, AgentImport.self, AgentPrepare.self]
    )
}
