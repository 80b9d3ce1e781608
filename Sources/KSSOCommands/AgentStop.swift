internal import ArgumentParser
internal import Foundation
internal import SSOAgentClient

struct AgentStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the agent. What it keeps on disk stays for the next one.",
        discussion: """
            The requests that it has begun are answered first. One that does not answer, such as a stopped one, is ended by a signal. To end the \
            sessions as well, first: ksso logout --all
            """
    )

    func run() async throws {
        let runtime = RuntimeDirectory(environment: ProcessInfo.processInfo.environment)
        let status: StatusDocument
        switch try await RunningAgent(runtime).answer() {
        case .status(let document): status = document
        case .silence(let listener): return try await end(listener, runtime, "did not answer")
        case .unreachable(let agent): return try await end(agent, runtime, "could not be asked at \(runtime.loss(of: .requests).fault)")
        }
        guard let process = status.process?.processID else { return }
        // Asked while the agent runs: afterwards the question alone would have systemd start the next one.
        let stopCommand = runtime.listener(at: .requests)?.stopCommand
        kill(process, SIGTERM)
        try await Self.waitForEnd(of: process)
        Console.print("The agent has stopped.")
        if let stopCommand {
            Console.note("systemd starts it again for the next program that needs it. To stop that as well: \(stopCommand)")
        }
        let principals = status.sessions.filter(\.signedIn).map(\.principal).joined(separator: ", ")
        guard status.cacheMode == "agent", !principals.isEmpty else { return }
        let command = stopCommand == nil ? "ksso agent run --background; ksso logout --all" : "ksso logout --all"
        Console.note("The tickets of \(principals) are kept for the next one. To end them: \(command)")
    }

    /// Ends an agent that does not answer.
    private func end(_ listener: AgentListener, _ runtime: RuntimeDirectory, _ fault: String) async throws {
        let process = listener.processID
        try await Self.end(listener)
        Console.print("The agent (process \(process)) \(fault). It was told to end by a signal, and has stopped.")
        if let kept = runtime.keptTickets { Console.note(kept.note) }
    }

    /// Ends an agent by a signal.
    ///
    /// - Throws: ``CommandFailure`` if the listener is no agent, such as systemd, or if it does not end.
    static func end(_ listener: AgentListener) async throws {
        guard listener.isAgent, kill(listener.processID, SIGTERM) == 0 else { throw CommandFailure(.failed, listener.silence) }
        // One that is suspended takes the other signal then.
        kill(listener.processID, SIGCONT)
        try await waitForEnd(of: listener.processID)
    }

    /// It gives its clients some seconds. Who started it may take longer to hear of its end.
    private static func waitForEnd(of process: Int32) async throws {
        let limit = ContinuousClock.now + .seconds(20)
        let agent = RunningProcess(processID: process)
        while kill(process, 0) == 0 {
            guard ContinuousClock.now < limit else {
                guard agent?.isRunning == true else { return }
                let sentence = "the agent (process \(process)) was told to stop and still runs. To end it at once: kill -KILL \(process)"
                throw CommandFailure(.failed, sentence)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
