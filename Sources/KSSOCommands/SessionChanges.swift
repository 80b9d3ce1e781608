internal import Kerberos
internal import SSOAgent
internal import SSOAgentClient

/// Says when the sessions may have changed.
enum SessionChanges {
    /// Yields at once, and then whenever it is time to look: at an agent's events, when a cache's file changes, and every few seconds,
    /// since some changes are told by nobody: a ticket expires, a service ticket arrives, another kind of cache is filled.
    static func stream(agent: AgentClient? = nil, cache: CredentialCacheName? = nil) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let changes = cache?.path.flatMap { path in FileWatch { [path] }?.changes }
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await tick(every: agent == nil && changes == nil ? .seconds(2) : .seconds(5), continuation) }
                if let agent {
                    group.addTask {
                        // They end with the agent, which is to be seen at once.
                        _ = try? await agent.events().reduce(into: ()) { _, _ in continuation.yield() }
                        continuation.yield()
                    }
                }
                if let changes {
                    group.addTask {
                        for await _ in changes {
                            // Who fills a cache writes several times: the first state, of no tickets, is nobody's sign-out.
                            try? await Task.sleep(for: .milliseconds(50))
                            continuation.yield()
                        }
                    }
                }
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private static func tick(every interval: Duration, _ continuation: AsyncStream<Void>.Continuation) async {
        while !Task.isCancelled {
            continuation.yield()
            try? await Task.sleep(for: interval)
        }
    }
}
