internal import ArgumentParser
internal import Foundation
internal import SSOAgentClient

struct AgentStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the agent. What it keeps on disk stays for the next one.",
        discussion: "The requests that it has begun are answered first. To end the sessions as well, first: ksso logout --all"
    )

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let status = try await RunningAgent(runtime).status()
        guard let process = status.process?.processID else { return }
        kill(process, SIGTERM)
        try await waitForEnd(of: process)
        Console.print("The agent has stopped.")
        let principals = status.sessions.filter(\.signedIn).map(\.principal).joined(separator: ", ")
        guard status.cacheMode == "agent", !principals.isEmpty else { return }
        Console.note("The tickets of \(principals) are kept for the next one. To end them: ksso agent run --background; ksso logout --all")
    }

    /// It gives its clients some seconds.
    private func waitForEnd(of process: Int32) async throws {
        let limit = ContinuousClock.now + .seconds(20)
        while kill(process, 0) == 0 {
            guard ContinuousClock.now < limit else {
                throw CommandFailure(.failed, "the agent (process \(process)) was told to stop and still runs.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
