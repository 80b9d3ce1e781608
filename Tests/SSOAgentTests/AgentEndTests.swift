import ExtensionProfile
import SSOAgentClient
import TestSupport
import Testing

@testable import SSOAgent

/// What the agent logs when it stops.
@Suite struct AgentEndTests {
    @Test func `a part that does not stop within its time limit is logged by name`() async {
        let log = Recorded<String>()
        let options = AgentOptions(
            runtime: RuntimeDirectory(environment: ["KSSO_RUNTIME_DIR": "/nonexistent"]),
            search: ProfileSearch(environment: [:]),
            makeExtension: { _, _ in throw CancellationError() },
            log: { log.append($0) }
        )
        let agent = Agent(options)
        await agent.finish("the background work", atMost: .seconds(60)) {}
        #expect(log.all.isEmpty)
        let gate = AsyncStream.makeStream(of: Void.self)
        await agent.finish("the server of the API", atMost: .milliseconds(1)) { for await _ in gate.stream {} }
        gate.continuation.finish()
        #expect(log.all.count == 1 && log.all[0].hasPrefix("the server of the API did not stop within "))
        #expect(agent.journal.recent.map(\.isFailure) == [true])
    }
}
