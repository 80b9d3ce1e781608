import SSOAgentClient

// No agent runs on a machine that only builds.
let agent = try? await AgentClient.connect()
print(agent == nil ? "works" : "works with an agent")
