internal import ArgumentParser
internal import Foundation
internal import SSOAgent
internal import SSOAgentClient

/// `ksso agent prepare`: what systemd does before it listens for an agent that does not run yet.
struct AgentPrepare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prepare",
        abstract: "Write the krb5.conf that leads programs to the agent's sockets, and end.",
        discussion: "For a service manager that listens in the agent's place, and starts it with the first request."
    )

    @OptionGroup var common: CommonOptions

    func run() async throws {
        do {
            let environment = ProcessInfo.processInfo.environment
            let runtime = RuntimeDirectory(environment: environment)
            try runtime.makePrivate()
            try await Agent(common.agentOptions(runtime, environment: environment)).prepare()
        } catch let error as AgentError {
            throw CommandFailure(.failed, error.description)
        } catch {
            throw CommandFailure(error, verbose: common.isVerbose)
        }
    }
}
