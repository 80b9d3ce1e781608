import SSOAgentClient

do {
    _ = try await AgentClient.connect(socketPath: "/nonexistent/agent.sock")
    print("fails: there is no such socket")
} catch {
    print(error.code == .agentNotRunning ? "works" : "fails: \(error)")
}
